// Nonblocking collectives make progress while all ranks compute. Each rank begins some, makes no MPI call, and
// polls its buffers until the results have arrived. No rank calls MPI before it has its own results. If results
// came only inside MPI calls, all ranks would poll for ever. They are begun on MPI_COMM_WORLD. If each rank has a node
// of its own, they are also the first ones of a communicator, and of persistent requests.
#include "check.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(call) MPIX_##call##_init
#else
#define INIT(call) MPI_##call##_init
#endif

enum { kMost = 2000, kSums = 2, kOps = kSums + 2 };
typedef enum Kind { kWorld, kDuplicate, kPersistent, kKinds } Kind;
static const char* const names[kKinds] = {"world", "duplicate", "persistent"};

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

static void begin(MPI_Comm comm, int root, int count, MPI_Request* requests) {
  const MPI_Datatype type = MPI_INT64_T;
  MPI_Iallreduce(in, sums[0], count, type, MPI_SUM, comm, &requests[0]);
  MPI_Ibcast(given, count, type, root, comm, &requests[1]);
  MPI_Ireduce(in, reduced, count, type, MPI_SUM, root, comm, &requests[2]);
  MPI_Iallreduce(in, sums[1], count, type, MPI_SUM, comm, &requests[3]);
}

static void make(int root, int count, MPI_Request* requests) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Datatype type = MPI_INT64_T;
  const MPI_Info none = MPI_INFO_NULL;
  INIT(Allreduce)(in, sums[0], count, type, MPI_SUM, comm, none, &requests[0]);
  INIT(Bcast)(given, count, type, root, comm, none, &requests[1]);
  INIT(Reduce)(in, reduced, count, type, MPI_SUM, root, comm, none, &requests[2]);
  INIT(Allreduce)(in, sums[1], count, type, MPI_SUM, comm, none, &requests[3]);
}

static void one_round(Kind kind, int round, size_t n) {
  const int root = round % ranks, count = (int)n;
  MPI_Request requests[kOps];
  MPI_Comm comm = MPI_COMM_WORLD;
  for (size_t i = 0; i < n; ++i) {
    in[i] = part(me, round, i);
    given[i] = me == root ? in[i] : -1;
    sums[0][i] = sums[1][i] = reduced[i] = -1;
  }
  doing("%s round %d: make", names[kind], round);
  if (kind == kDuplicate) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (kind == kPersistent) make(root, count, requests);
  MPI_Barrier(MPI_COMM_WORLD);
  doing("%s round %d: begin", names[kind], round);
  if (kind == kPersistent)
    MPI_Startall(kOps, requests);
  else
    begin(comm, root, count, requests);
  doing("%s round %d: looking for results of %zu elements without MPI calls", names[kind], round,
        n);
  while (!is_sum(sums[0], round, n) || !is_given(given, root, round, n) ||
         (me == root && !is_sum(reduced, round, n)) || !is_sum(sums[1], round, n))
    pause_seconds(0.0002);
  doing("%s round %d: wait", names[kind], round);
  MPI_Waitall(kOps, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; kind == kPersistent && i < kOps; ++i) MPI_Request_free(&requests[i]);
  if (kind == kDuplicate) MPI_Comm_free(&comm);
}

// Whether no two ranks share a node. If they do, a communicator's first operation may wait for an MPI call: only the
// first rank of a node can make their board.
static bool is_alone(void) {
  MPI_Comm node;
  int most = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &most);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return most == 1;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const size_t sizes[] = {1, 7, 500, 2000};
  const int rounds = long_run ? 2000 : 40;
  for (int round = 0; round < rounds; ++round) one_round(kWorld, round, sizes[round % 4]);
  if (is_alone())
    for (int round = 0; round < rounds; ++round)
      one_round(round % 2 == 0 ? kDuplicate : kPersistent, round, sizes[round / 2 % 4]);
  return check_end();
}
