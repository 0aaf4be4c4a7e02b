// Producer and consumer: the time until 8 bytes that one rank has written are seen by the other, half of a
// round trip. In what way is an argument; each way is one job, so that components can be compared.
//
//   mpirun -n 2 --mca osc rdma    notify flush     MPI_Put, MPI_Win_flush, then an empty message
//   mpirun -n 2                   notify send      the bytes as a message
//   mpirun -n 2 --mca osc neon    notify neon      announced buffer, final put
//   mpirun -n 2 --mca osc neon    notify counter   MPIX_Put_notify and a counter
//
// Prints `WAY SIZE B MEDIAN us (n = ROUNDS)`; what reading the clock takes is shared by kBatch rounds. Options: --size BYTES, --rounds N.
#include <mpi.h>
#include <mpix_neon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 50 };

static int me, peer, size;
static MPI_Win win;
static unsigned char* memory;
static unsigned char* data;
static MPI_Request ann;

static void flush_there(void) {
  MPI_Put(data, size, MPI_BYTE, peer, 0, size, MPI_BYTE, win);
  MPI_Win_flush(peer, win);
  MPI_Send(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}
static void flush_here(void) {
  MPI_Recv(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_sync(win);
}
static void send_there(void) { MPI_Send(data, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD); }
static void send_here(void) {
  MPI_Recv(memory, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void neon_there(void) {
  MPI_Request request;
  MPIX_Neon_put(data, size, MPI_BYTE, peer, 7, 0, size, MPI_BYTE, MPIX_NEON_FINAL, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void neon_here(void) {
  MPI_Wait(&ann, MPI_STATUS_IGNORE);
  MPI_Start(&ann);
}
static uint64_t seen;
static void counter_there(void) {
  MPIX_Put_notify(data, size, MPI_BYTE, peer, 0, size, MPI_BYTE, 0, win);
}
static void counter_here(void) { MPIX_Win_wait_notify(win, 0, ++seen); }

static const struct {
  const char* name;
  void (*there)(void);
  void (*here)(void);
} ways[] = {{"flush", flush_there, flush_here},
            {"send", send_there, send_here},
            {"neon", neon_there, neon_here},
            {"counter", counter_there, counter_here}};

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rounds = 20000;
  size_t way = sizeof ways / sizeof *ways;
  size = 8;
  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--size") == 0 && i + 1 < argc) size = atoi(argv[++i]);
    if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = atoi(argv[++i]);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w)
      if (strcmp(argv[i], ways[w].name) == 0) way = w;
  }
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (way == sizeof ways / sizeof *ways || ranks != 2 || size < 1 || rounds < 1) {
    if (me == 0) fprintf(stderr, "usage: mpirun -n 2 notify flush|send|neon|counter\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  peer = 1 - me;
  MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  data = calloc((size_t)size, 1);
  double* times = malloc(sizeof *times * (size_t)rounds);
  if (way >= 2) MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 1);
  if (way == 2) {
    MPIX_Neon_announce_init(0, size, 1, &peer, 7, 0, win, &ann);
    MPI_Start(&ann);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int batches = (rounds + kBatch - 1) / kBatch;
  for (int i = -batches / 10; i < batches; ++i) {
    const double start = MPI_Wtime();
    for (int round = 0; round < kBatch; ++round) {
      if (me == 0) {
        ways[way].there();
        ways[way].here();
      } else {
        ways[way].here();
        ways[way].there();
      }
    }
    if (i >= 0) times[i] = (MPI_Wtime() - start) / (2 * kBatch) * 1e6;
  }
  if (me == 0) {
    qsort(times, (size_t)batches, sizeof *times, ascending);
    printf("%s %d B %.3f us (n = %d)\n", ways[way].name, size, times[batches / 2], rounds);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (way == 2) MPI_Request_free(&ann);
  free(times);
  free(data);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
