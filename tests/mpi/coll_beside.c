// Collectives of one communicator that run side by side. While one rank is late for the first collective, others
// that do not need that rank complete, nonblocking and blocking. The rank stays late until the others notify it: if
// they waited for it, all ranks would wait for ever.
#include "check.h"

enum { kMost = 4000, kBeside = 3, kTag = 7 };

static int64_t part(int r, uint64_t number, size_t i) {
  return (int64_t)(word_at(key_of(r, 0, number), i) & 0xffffff);
}

static int64_t sum(uint64_t number, size_t i) {
  int64_t value = 0;
  for (int r = 0; r < ranks; ++r) value += part(r, number, i);
  return value;
}

static void fill_with(int64_t* values, int r, uint64_t number, size_t n) {
  for (size_t i = 0; i < n; ++i) values[i] = part(r, number, i);
}

static int64_t *in, *total, *given[kBeside];

// The late operation: 0 a barrier, 1 a sum at all ranks, 2 a sum at one rank that is not the late one.
static void begin_late(int kind, int root, uint64_t number, size_t n, MPI_Comm comm,
                       MPI_Request* request) {
  fill_with(in, me, number, n);
  switch (kind) {
    case 0: MPI_Ibarrier(comm, request); break;
    case 1: MPI_Iallreduce(in, total, (int)n, MPI_INT64_T, MPI_SUM, comm, request); break;
    default: MPI_Ireduce(in, total, (int)n, MPI_INT64_T, MPI_SUM, root, comm, request);
  }
}

static void begin_beside(int i, int late, uint64_t number, size_t n, MPI_Comm comm,
                         MPI_Request* request) {
  const int root = (late + 1 + i % (ranks - 1)) % ranks;
  if (me == root) fill_with(given[i], root, number + (uint64_t)i, n);
  *request = MPI_REQUEST_NULL;
  // The last one is blocking.
  if (i + 1 < kBeside)
    MPI_Ibcast(given[i], (int)n, MPI_INT64_T, root, comm, request);
  else
    MPI_Bcast(given[i], (int)n, MPI_INT64_T, root, comm);
}

static void check_beside(int i, int late, uint64_t number, size_t n) {
  const int root = (late + 1 + i % (ranks - 1)) % ranks;
  for (size_t at = 0; at < n; ++at)
    require(given[i][at] == part(root, number + (uint64_t)i, at),
            "broadcast %d: element %zu is wrong", i, at);
}

static void wait_for(MPI_Request* request, int i, int late, uint64_t number, size_t n) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  check_beside(i, late, number, n);
}

static void one_case(int round, int kind, int late, size_t n, MPI_Comm comm) {
  const uint64_t number = (uint64_t)round * 8;
  const int root = (late + 1) % ranks;
  MPI_Request first, beside[kBeside];
  MPI_Barrier(comm);
  if (me == late) {
    doing("round %d: waiting until the others have done without this rank", round);
    for (int r = 0; r < ranks; ++r)
      if (r != late) MPI_Recv(NULL, 0, MPI_INT, r, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    begin_late(kind, root, number + 7, n, comm, &first);
    for (int i = 0; i < kBeside; ++i) begin_beside(i, late, number, n, comm, &beside[i]);
    for (int i = kBeside - 1; i >= 0; --i) wait_for(&beside[i], i, late, number, n);
  } else {
    doing("round %d: broadcasts of %zu elements, while rank %d is late for %d", round, n, late,
          kind);
    begin_late(kind, root, number + 7, n, comm, &first);
    for (int i = 0; i < kBeside; ++i) begin_beside(i, late, number, n, comm, &beside[i]);
    for (int i = kBeside - 1; i >= 0; --i) wait_for(&beside[i], i, late, number, n);
    int over = 0;
    if (kind != 2 || me == root) MPI_Test(&first, &over, MPI_STATUS_IGNORE);
    require(!over, "a rank has not come, and it is over");
    MPI_Send(NULL, 0, MPI_INT, late, kTag, MPI_COMM_WORLD);
  }
  doing("round %d: what the late one was waited for", round);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  if (kind == 1 || (kind == 2 && me == root))
    for (size_t i = 0; i < n; ++i)
      require(total[i] == sum(number + 7, i), "element %zu of the sum is wrong", i);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  in = allocate(kMost * sizeof *in), total = allocate(kMost * sizeof *total);
  for (int i = 0; i < kBeside; ++i) given[i] = allocate(kMost * sizeof *given[i]);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const size_t sizes[] = {1, 7, 100, kMost};
  int round = 0;
  for (int turn = 0; turn < (long_run ? 100 : 4); ++turn)
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; ++size)
      for (int kind = 0; kind < 3; ++kind, ++round)
        one_case(round, kind, round % ranks, sizes[size], comm);
  MPI_Comm_free(&comm);
  free(in), free(total);
  for (int i = 0; i < kBeside; ++i) free(given[i]);
  return check_end();
}
