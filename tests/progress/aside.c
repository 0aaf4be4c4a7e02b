// Nonblocking collectives make progress while all ranks compute. Each rank begins some, makes no MPI call, and
// polls its buffers until the results have arrived. No rank calls MPI before it has its own results. If results
// came only inside MPI calls, all ranks would poll for ever.
#include "check.h"

enum { kMost = 2000, kSums = 2 };

static int64_t in[kMost], sums[kSums][kMost], given[kMost], reduced[kMost];

static int64_t part(int rank, int round, size_t i) { return round * 1000 + rank * 7 + (int64_t)i; }

static int64_t sum(int round, size_t i) {
  int64_t value = 0;
  for (int rank = 0; rank < ranks; ++rank) value += part(rank, round, i);
  return value;
}

// Whether a buffer contains the expected result; without a call of MPI.
static bool is_sum(const volatile int64_t* values, int round, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (values[i] != sum(round, i)) return false;
  return true;
}

static bool is_given(const volatile int64_t* values, int root, int round, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (values[i] != part(root, round, i)) return false;
  return true;
}

static void one_round(int round, size_t n) {
  const int root = round % ranks, count = (int)n;
  MPI_Request requests[kSums + 2];
  for (size_t i = 0; i < n; ++i) {
    in[i] = part(me, round, i);
    given[i] = me == root ? in[i] : -1;
    sums[0][i] = sums[1][i] = reduced[i] = -1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  doing("round %d: begin", round);
  MPI_Iallreduce(in, sums[0], count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(given, count, MPI_INT64_T, root, MPI_COMM_WORLD, &requests[1]);
  MPI_Ireduce(in, reduced, count, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD, &requests[2]);
  MPI_Iallreduce(in, sums[1], count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
  doing("round %d: looking for results of %zu elements without MPI calls", round, n);
  while (!is_sum(sums[0], round, n) || !is_given(given, root, round, n) ||
         (me == root && !is_sum(reduced, round, n)) || !is_sum(sums[1], round, n))
    pause_seconds(0.0002);
  doing("round %d: wait", round);
  MPI_Waitall(kSums + 2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const size_t sizes[] = {1, 7, 500, 2000};
  for (int round = 0; round < (long_run ? 2000 : 40); ++round) one_round(round, sizes[round % 4]);
  return check_end();
}
