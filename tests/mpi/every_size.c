// Messages from 0 B to 1 MiB between all ranks, also with gaps and nonblocking ones, most collectives, and two windows,
// in a second: for jobs whose parameters have unusual values (tests/fault/parameters.sh).
#include "check.h"

enum { kLargest = 1 << 20 };
static const int sizes[] = {0,     1,     63,    64,     79,     80,     81,     255,   256,
                            257,   511,   512,   4095,   4096,   49088,  49152,  65535, 65536,
                            65792, 65793, 70000, 262143, 262144, 262145, 1 << 20};
enum { kSizes = sizeof sizes / sizeof *sizes };

static unsigned char *out, *in;

static void messages(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  for (int i = 0; i < kSizes; ++i) {
    const size_t size = (size_t)sizes[i];
    doing("%zu bytes to %d, from %d", size, to, from);
    MPI_Request requests[2];
    fill(out, size, key_of(me, to, (uint64_t)i));
    MPI_Irecv(in, kLargest, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, size, key_of(from, me, (uint64_t)i), from);
    MPI_Sendrecv(out, sizes[i], MPI_BYTE, from, i, in, kLargest, MPI_BYTE, to, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

// A message that is copied piece by piece, because it has gaps.
static void gaps(void) {
  enum { kBlocks = 3000 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  MPI_Datatype every_other;
  MPI_Type_vector(kBlocks, 7, 14, MPI_BYTE, &every_other);
  MPI_Type_commit(&every_other);
  doing("a message with gaps to %d, from %d", to, from);
  for (int i = 0; i < 14 * kBlocks; ++i) {
    out[i] = (unsigned char)(me + i / 14 + i % 14);
    in[i] = 0;
  }
  MPI_Sendrecv(out, 1, every_other, to, 1, in, 1, every_other, from, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < kBlocks * 14 - 7; ++i) {
    const unsigned char expected = i % 14 < 7 ? (unsigned char)(from + i / 14 + i % 14) : 0;
    require(in[i] == expected, "byte %d of a message with gaps: %u, not %u", i, in[i], expected);
  }
  MPI_Type_free(&every_other);
}

static void collectives(void) {
  for (int i = 0; i < kSizes; ++i) {
    const int count = sizes[i] / (int)sizeof(int);
    int *given = (int*)out, *got = (int*)in;
    doing("broadcast and reductions of %d ints", count);
    for (int at = 0; at < count; ++at) given[at] = me + at;
    MPI_Allreduce(given, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < count; ++at)
      require(got[at] == ranks * at + ranks * (ranks - 1) / 2, "allreduce of %d ints, at %d: %d",
              count, at, got[at]);
    MPI_Request request;
    const int root = i % ranks;
    MPI_Ibcast(given, count, MPI_INT, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 0; at < count; ++at)
      require(given[at] == root + at, "broadcast of %d ints, at %d: %d", count, at, given[at]);
    const int each = count / ranks;
    MPI_Alltoall(given, each, MPI_INT, got, each, MPI_INT, MPI_COMM_WORLD);
    for (int at = 0; at < each * ranks; ++at)
      require(got[at] == root + me * each + at % (each == 0 ? 1 : each), "alltoall of %d ints",
              each);
    MPI_Reduce(given, got, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    require(me != root || count == 0 || got[count - 1] == root + count - 1, "reduce of %d ints",
            count);
  }
}

static void window(bool created) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* memory = NULL;
  MPI_Win win;
  doing("a window, %s", created ? "created" : "allocated");
  if (created) {
    memory = allocate(kLargest);
    MPI_Win_create(memory, kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  }
  for (int i = 0; i < kSizes; ++i) {
    const size_t size = (size_t)sizes[i];
    doing("put and get of %zu bytes, to %d", size, to);
    fill(out, size, key_of(me, to, (uint64_t)i));
    MPI_Win_fence(0, win);
    MPI_Put(out, sizes[i], MPI_BYTE, to, (MPI_Aint)(kLargest - sizes[i]), sizes[i], MPI_BYTE, win);
    MPI_Win_fence(0, win);
    verify(memory + kLargest - size, size, key_of(from, me, (uint64_t)i), from);
    MPI_Get(in, sizes[i], MPI_BYTE, to, (MPI_Aint)(kLargest - sizes[i]), sizes[i], MPI_BYTE, win);
    MPI_Win_fence(0, win);
    verify(in, size, key_of(me, to, (uint64_t)i), to);
  }
  doing("additions to an int of rank 0");
  if (me == 0) memset(memory, 0, sizeof(int));
  MPI_Win_fence(0, win);
  const int one = 1;
  for (int i = 0; i < 10; ++i) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  int sum = 0;
  memcpy(&sum, memory, sizeof sum);
  require(me != 0 || sum == 10 * ranks, "additions: %d, not %d", sum, 10 * ranks);
  MPI_Win_free(&win);
  if (created) free(memory);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  out = allocate(kLargest);
  in = allocate(kLargest);
  messages();
  gaps();
  collectives();
  window(true);
  window(false);
  free(out);
  free(in);
  return check_end();
}
