// The first collective of a communicator: any call may be it, however late it comes. Communicators are duplicates, and
// parts with the ranks turned round; some are freed without a call, and their numbers are used again.
//
//   coll_first [--rounds N]     N times all first calls (20)
#include "check.h"

static int sum_to(int size) { return size * (size - 1) / 2; }

static void call_barrier(MPI_Comm comm, int rank, int size) {
  (void)rank;
  (void)size;
  MPI_Barrier(comm);
}

static void call_bcast(MPI_Comm comm, int rank, int size) {
  int value = rank == size - 1 ? 77 : 0;
  MPI_Bcast(&value, 1, MPI_INT, size - 1, comm);
  require(value == 77, "bcast: %d", value);
}

static void call_allreduce(MPI_Comm comm, int rank, int size) {
  int sum = -1;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == sum_to(size), "allreduce: %d", sum);
}

static void call_large(MPI_Comm comm, int rank, int size) {
  enum { kCount = 20000 };
  static int in[kCount], out[kCount];
  for (int i = 0; i < kCount; ++i) in[i] = rank + i;
  MPI_Allreduce(in, out, kCount, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < kCount; ++i)
    require(out[i] == sum_to(size) + size * i, "large allreduce: %d at %d", out[i], i);
}

static void call_iallreduce(MPI_Comm comm, int rank, int size) {
  double value = rank;
  double sum = -1;
  MPI_Request request;
  MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(sum == sum_to(size), "iallreduce: %f", sum);
}

static void call_two(MPI_Comm comm, int rank, int size) {
  double values[2] = {rank == 0 ? 5 : 0, rank == size - 1 ? 6 : 0};
  MPI_Request requests[2];
  MPI_Ibcast(&values[0], 1, MPI_DOUBLE, 0, comm, &requests[0]);
  MPI_Ibcast(&values[1], 1, MPI_DOUBLE, size - 1, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  require(values[0] == 5 && values[1] == 6, "two ibcasts: %f and %f", values[0], values[1]);
}

static void call_empty(MPI_Comm comm, int rank, int size) {
  MPI_Bcast(NULL, 0, MPI_INT, 0, comm);
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm);
  call_allreduce(comm, rank, size);
}

static void call_allgather(MPI_Comm comm, int rank, int size) {
  int* all = allocate((size_t)size * sizeof(int));
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; ++i) require(all[i] == i, "allgather: %d from %d", all[i], i);
  free(all);
}

static void call_alltoall(MPI_Comm comm, int rank, int size) {
  int* out = allocate((size_t)size * sizeof(int));
  int* in = allocate((size_t)size * sizeof(int));
  memset(out, 0, (size_t)size * sizeof(int));
  for (int i = 0; i < size; ++i) out[i] = rank * size + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int i = 0; i < size; ++i)
    require(in[i] == i * size + rank, "alltoall: %d from %d", in[i], i);
  free(out);
  free(in);
}

static void call_reduce_scatter(MPI_Comm comm, int rank, int size) {
  int* out = allocate((size_t)size * sizeof(int));
  int sum = -1;
  memset(out, 0, (size_t)size * sizeof(int));
  for (int i = 0; i < size; ++i) out[i] = rank + i;
  MPI_Reduce_scatter_block(out, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == sum_to(size) + size * rank, "reduce-scatter: %d", sum);
  free(out);
}

static void call_scan(MPI_Comm comm, int rank, int size) {
  int sum = -1;
  (void)size;
  MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == sum_to(rank + 1), "scan: %d", sum);
}

// The component below does this one, and it has to be found.
static void call_pairs(MPI_Comm comm, int rank, int size) {
  struct {
    double value;
    int rank;
  } own = {-rank, rank}, found = {0, -1};
  MPI_Allreduce(&own, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  require(found.rank == size - 1, "minloc: %d", found.rank);
}

static void call_neighbours(MPI_Comm comm, int rank, int size) {
  MPI_Comm ring;
  int around = 1;
  MPI_Cart_create(comm, 1, &size, &around, 0, &ring);
  int in[2] = {-1, -1};
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring);
  require(in[0] == (rank + size - 1) % size && in[1] == (rank + 1) % size, "neighbours: %d and %d",
          in[0], in[1]);
  MPI_Comm_free(&ring);
}

static void (*const calls[])(MPI_Comm, int, int) = {
    call_barrier, call_bcast, call_allreduce, call_large,    call_iallreduce,
    call_two,     call_empty, call_allgather, call_alltoall, call_reduce_scatter,
    call_scan,    call_pairs, call_neighbours};
enum { kCalls = (int)(sizeof calls / sizeof *calls) };

static MPI_Comm make(int number) {
  MPI_Comm comm;
  if (number % 2 == 0)
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  else
    MPI_Comm_split(MPI_COMM_WORLD, ranks > 3 ? me % 2 : 0, number % 4 == 1 ? -me : me, &comm);
  return comm;
}

// All communicators are there before the first call; each rank is late for some calls.
static void run_round(int round) {
  MPI_Comm comms[kCalls];
  MPI_Comm idle[3];
  for (int i = 0; i < 3; ++i) idle[i] = make(round + i);
  for (int i = 0; i < kCalls; ++i) comms[i] = make(round + i);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&idle[i]);
  for (int i = kCalls; i-- > 0;) {
    int rank, size;
    doing("round %d: call %d is the first one", round, i);
    MPI_Comm_rank(comms[i], &rank);
    MPI_Comm_size(comms[i], &size);
    if ((round + i) % ranks == me) (void)nanosleep(&(struct timespec){0, 200000}, NULL);
    calls[i](comms[i], rank, size);
    call_allreduce(comms[i], rank, size);
    MPI_Comm_free(&comms[i]);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int rounds = (int)option(argc, argv, "--rounds", 20);
  for (int round = 0; round < rounds; ++round) run_round(round);
  return check_end();
}
