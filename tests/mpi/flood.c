// Many eager messages to a rank that sleeps before its first receive: no message may be lost, and no rank may run
// out of memory. All other ranks send to rank 0; --messages N is the sum of all their messages.
//
// Prints each sender's time and each rank's peak memory:
//   flood rank=1 sent=200000 bytes=1024 seconds=5.4
//   flood rank=0 rss_kib_before=20000 rss_kib_peak=240000
// Options: --messages N, --size BYTES, --sleep SECONDS.
#include "check.h"
#include "process.h"

enum { kPosted = 16 };

// A line of /proc/self/status in KiB, or -1.
static long memory_kib(const char* key) {
  FILE* file = fopen("/proc/self/status", "r");
  long value = -1;
  char line[256];
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key), NULL, 10);
  if (file != NULL) fclose(file);
  return value;
}

static void flood(long messages, int size) {
  unsigned char* data = allocate((size_t)size);
  const double start = MPI_Wtime();
  for (long i = 0; i < messages; ++i) {
    if (i % 1000 == 0) doing("send %ld of %ld", i, messages);
    fill(data, (size_t)size, key_of(me, 0, (uint64_t)i));
    MPI_Send(data, size, MPI_BYTE, 0, (int)(i % 1000), MPI_COMM_WORLD);
  }
  printf("flood rank=%d sent=%ld bytes=%d seconds=%.2f\n", me, messages, size, MPI_Wtime() - start);
  free(data);
}

static void drain(long per_sender, int size) {
  unsigned char* data = allocate((size_t)size);
  long* next = calloc((size_t)ranks, sizeof *next);
  for (long i = 0; i < per_sender * (ranks - 1); ++i) {
    MPI_Status status;
    int count = 0;
    if (i % 1000 == 0) doing("receive %ld of %ld", i, per_sender * (ranks - 1));
    MPI_Recv(data, size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    const int from = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == size && status.MPI_TAG == next[from] % 1000,
            "peer %d: message %ld has tag %d and %d bytes", from, next[from], status.MPI_TAG,
            count);
    verify(data, (size_t)size, key_of(from, 0, (uint64_t)next[from]), from);
    ++next[from];
  }
  for (int from = 1; from < ranks; ++from)
    require(next[from] == per_sender, "peer %d: %ld messages of %ld", from, next[from], per_sender);
  free(next);
  free(data);
}

int main(int argc, char** argv) {
  refuse_huge_pages();
  patience = 160;  // many round trips: slow where many processes share few cores
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  const long per_sender = option(argc, argv, "--messages", 200000) / (ranks - 1);
  const int size = (int)option(argc, argv, "--size", 1024);
  const long sleep_seconds = option(argc, argv, "--sleep", 5);
  const long before = memory_kib("VmRSS:");
  doing("barrier before the flood");
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    doing("sleep");
    pause_seconds((double)sleep_seconds);
    drain(per_sender, size);
  } else {
    flood(per_sender, size);
  }
  doing("barrier after the flood");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("flood rank=%d rss_kib_before=%ld rss_kib_peak=%ld\n", me, before, memory_kib("VmHWM:"));
  fflush(stdout);
  return check_end();
}
