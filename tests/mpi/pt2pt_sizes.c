// Every size class from 0 bytes to 64 MiB, with checked contents: blocking, nonblocking with both
// directions at once, and unexpected (the message is there before its receive).
#include "check.h"

enum { kGuard = 64, kLargest = 64 << 20 };

static unsigned char* out_buffer;
static unsigned char* in_buffer;

static int by_value(const void* a, const void* b) {
  const size_t x = *(const size_t*)a, y = *(const size_t*)b;
  return (x > y) - (x < y);
}

// All sizes, ascending, no duplicates: small ones, powers of two and sizes beside them, and the region below each
// usual protocol limit, where a header may or may not still fit.
static size_t make_sizes(size_t* sizes) {
  size_t n = 0;
  for (size_t size = 0; size <= 66; ++size) sizes[n++] = size;
  for (size_t size = 128; size <= kLargest; size *= 2) {
    sizes[n++] = size - 1;
    sizes[n++] = size;
    if (size < kLargest) sizes[n++] = size + 1;
  }
  static const size_t limits[] = {1 << 10,  4 << 10,  8 << 10,  12 << 10,
                                  32 << 10, 64 << 10, 128 << 10};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i)
    for (size_t below = 4; below <= 120; below += long_run ? 1 : 4) sizes[n++] = limits[i] - below;
  qsort(sizes, n, sizeof *sizes, by_value);
  size_t kept = 1;
  for (size_t i = 1; i < n; ++i)
    if (sizes[i] != sizes[kept - 1]) sizes[kept++] = sizes[i];
  return kept;
}

static void prepare(size_t size) {
  const size_t head = size < 4096 ? size : 4096;
  memset(in_buffer, 0x5a, head);
  memset(in_buffer + size, 0xa5, kGuard);
}

static void check_message(size_t size, int from, int tag, const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  require((size_t)count == size && status->MPI_SOURCE == from && status->MPI_TAG == tag,
          "peer %d: status says source %d tag %d count %d, not %d %d %zu", from, status->MPI_SOURCE,
          status->MPI_TAG, count, from, tag, size);
  verify(in_buffer, size, key_of(from, me, size), from);
  for (int i = 0; i < kGuard; ++i)
    require(in_buffer[size + (size_t)i] == 0xa5,
            "peer %d, %zu bytes: byte %d behind the buffer written", from, size, i);
}

static void blocking(size_t size, int to, int from) {
  MPI_Status status;
  prepare(size);
  doing("blocking: %zu bytes to %d, from %d", size, to, from);
  if (me < to) MPI_Send(out_buffer, (int)size, MPI_BYTE, to, 1, MPI_COMM_WORLD);
  MPI_Recv(in_buffer, (int)size, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status);
  if (me > to) MPI_Send(out_buffer, (int)size, MPI_BYTE, to, 1, MPI_COMM_WORLD);
  check_message(size, from, 1, &status);
}

static void both_ways(size_t size, int to, int from) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  prepare(size);
  doing("both ways: %zu bytes to %d, from %d", size, to, from);
  MPI_Irecv(in_buffer, (int)size, MPI_BYTE, from, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out_buffer, (int)size, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  check_message(size, from, 2, &statuses[0]);
}

static void unexpected(size_t size, int to, int from) {
  MPI_Request request;
  MPI_Status status;
  prepare(size);
  doing("unexpected: %zu bytes to %d, from %d", size, to, from);
  MPI_Isend(out_buffer, (int)size, MPI_BYTE, to, 3, MPI_COMM_WORLD, &request);
  MPI_Probe(from, 3, MPI_COMM_WORLD, &status);
  MPI_Recv(in_buffer, (int)size, MPI_BYTE, from, 3, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_message(size, from, 3, &status);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  out_buffer = allocate(kLargest);
  in_buffer = allocate(kLargest + kGuard);
  static size_t sizes[2048];
  const size_t n = make_sizes(sizes);
  for (size_t i = 0; i < n; ++i) {
    // Another distance for every size, so that all pairs take part.
    const int distance = 1 + (int)(i % (size_t)(ranks - 1));
    const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
    const size_t size = sizes[i];
    fill(out_buffer, size, key_of(me, to, size));
    both_ways(size, to, from);
    if (size > 4 << 20 && !long_run) continue;
    blocking(size, to, from);
    unexpected(size, to, from);
  }
  free(out_buffer);
  free(in_buffer);
  return check_end();
}
