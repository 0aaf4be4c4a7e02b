// Collectives over a job and its spawned children, which may have other parameters: all ranks agree whether LFC serves
// the merged communicator, and results are right either way.
//
//   mpi_jobs [--child NAME=VALUE]...
//
// --child sets a parameter of Open MPI in the children.
#include "children.h"

enum { kMost = 16, kEach = 3, kAll = kMost * kEach };

static int rank, size;  // in the communicator under test
static int64_t in[kAll], out[kAll];
static int counts[kMost], places[kMost];

static int64_t value(int from, int i) { return 1000 * (int64_t)from + i; }

static void prepare(void) {
  for (int i = 0; i < size; ++i) {
    counts[i] = kEach;
    places[i] = i * kEach;
  }
  for (int i = 0; i < kAll; ++i) {
    in[i] = value(rank, i);
    out[i] = -1;
  }
}

// Element i of the block is `first` + i.
static void check_block(const char* call, int block, int64_t first) {
  for (int i = 0; i < kEach; ++i)
    require(out[block * kEach + i] == first + i, "%s: element %d of block %d is %lld", call, i,
            block, (long long)out[block * kEach + i]);
}

static void check_sum(const char* call, int ranks_summed, int offset) {
  for (int i = 0; i < kEach; ++i) {
    int64_t sum = 0;
    for (int from = 0; from < ranks_summed; ++from) sum += value(from, offset + i);
    require(out[i] == sum, "%s: element %d is %lld, not %lld", call, i, (long long)out[i],
            (long long)sum);
  }
}

// The rank that is the root: one of the other job, as seen by rank 0.
static int root(void) { return size - 1; }

static void barrier(MPI_Comm comm) { MPI_Barrier(comm); }

static void bcast(MPI_Comm comm) {
  for (int i = 0; i < kEach; ++i) out[i] = rank == root() ? value(root(), i) : -1;
  MPI_Bcast(out, kEach, MPI_INT64_T, root(), comm);
  check_block("bcast", 0, value(root(), 0));
}

static void reduce(MPI_Comm comm) {
  MPI_Reduce(in, out, kEach, MPI_INT64_T, MPI_SUM, root(), comm);
  if (rank == root()) check_sum("reduce", size, 0);
}

static void allreduce(MPI_Comm comm) {
  MPI_Allreduce(in, out, kEach, MPI_INT64_T, MPI_SUM, comm);
  check_sum("allreduce", size, 0);
}

static void reduce_scatter_block(MPI_Comm comm) {
  MPI_Reduce_scatter_block(in, out, kEach, MPI_INT64_T, MPI_SUM, comm);
  check_sum("reduce_scatter_block", size, rank * kEach);
}

static void scan(MPI_Comm comm) {
  MPI_Scan(in, out, kEach, MPI_INT64_T, MPI_SUM, comm);
  check_sum("scan", rank + 1, 0);
}

static void exscan(MPI_Comm comm) {
  MPI_Exscan(in, out, kEach, MPI_INT64_T, MPI_SUM, comm);
  if (rank > 0) check_sum("exscan", rank, 0);
}

static void check_own_blocks(const char* call) {
  for (int from = 0; from < size; ++from) check_block(call, from, value(from, 0));
}

static void check_blocks_for_me(const char* call) {
  for (int from = 0; from < size; ++from) check_block(call, from, value(from, rank * kEach));
}

static void allgather(MPI_Comm comm) {
  MPI_Allgather(in, kEach, MPI_INT64_T, out, kEach, MPI_INT64_T, comm);
  check_own_blocks("allgather");
}

static void allgatherv(MPI_Comm comm) {
  MPI_Allgatherv(in, kEach, MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
  check_own_blocks("allgatherv");
}

static void gather(MPI_Comm comm) {
  MPI_Gather(in, kEach, MPI_INT64_T, out, kEach, MPI_INT64_T, root(), comm);
  if (rank == root()) check_own_blocks("gather");
}

static void gatherv(MPI_Comm comm) {
  MPI_Gatherv(in, kEach, MPI_INT64_T, out, counts, places, MPI_INT64_T, root(), comm);
  if (rank == root()) check_own_blocks("gatherv");
}

static void scatter(MPI_Comm comm) {
  MPI_Scatter(in, kEach, MPI_INT64_T, out, kEach, MPI_INT64_T, root(), comm);
  check_block("scatter", 0, value(root(), rank * kEach));
}

static void scatterv(MPI_Comm comm) {
  MPI_Scatterv(in, counts, places, MPI_INT64_T, out, kEach, MPI_INT64_T, root(), comm);
  check_block("scatterv", 0, value(root(), rank * kEach));
}

static void alltoall(MPI_Comm comm) {
  MPI_Alltoall(in, kEach, MPI_INT64_T, out, kEach, MPI_INT64_T, comm);
  check_blocks_for_me("alltoall");
}

static void alltoallv(MPI_Comm comm) {
  MPI_Alltoallv(in, counts, places, MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
  check_blocks_for_me("alltoallv");
}

static void ialltoall(MPI_Comm comm) {
  MPI_Request request;
  MPI_Ialltoall(in, kEach, MPI_INT64_T, out, kEach, MPI_INT64_T, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_blocks_for_me("ialltoall");
}

static const struct {
  const char* name;
  void (*run)(MPI_Comm comm);
} calls[] = {
    {"barrier", barrier},
    {"bcast", bcast},
    {"reduce", reduce},
    {"allreduce", allreduce},
    {"scan", scan},
    {"reduce_scatter_block", reduce_scatter_block},
    {"exscan", exscan},
    {"allgather", allgather},
    {"allgatherv", allgatherv},
    {"gather", gather},
    {"gatherv", gatherv},
    {"scatter", scatter},
    {"scatterv", scatterv},
    {"alltoall", alltoall},
    {"alltoallv", alltoallv},
    {"ialltoall", ialltoall},
};
enum { kCalls = sizeof calls / sizeof calls[0] };

static void run_all(MPI_Comm comm, int first, const char* what) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  require(size <= kMost, "%d ranks are more than %d", size, kMost);
  for (int i = 0; i < kCalls; ++i) {
    const int call = (first + i) % kCalls;
    doing("%s, from %s on: %s", what, calls[first].name, calls[call].name);
    prepare();
    calls[call].run(comm);
  }
}

// Operations that begin before the ranks have agreed, and end afterwards.
static void straddle(MPI_Comm comm) {
  int64_t sum = 0, mine = 1, root_value = 0;
  MPI_Request requests[3];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank == root()) root_value = 77;
  doing("nonblocking calls before the first blocking one");
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm, &requests[0]);
  MPI_Ibcast(&root_value, 1, MPI_INT64_T, root(), comm, &requests[1]);
  prepare();
  doing("first blocking call");
  allreduce(comm);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  require(sum == size && root_value == 77, "sum %lld, value %lld", (long long)sum,
          (long long)root_value);
}

// `inter` leads to the other job.
static void together(MPI_Comm inter, int high) {
  MPI_Comm both, each;
  doing("merge");
  MPI_Intercomm_merge(inter, high, &both);
  MPI_Comm_set_name(both, "both");
  straddle(both);
  run_all(both, 0, "both");
  for (int first = 0; first < kCalls; ++first) {
    doing("duplicate");
    MPI_Comm_dup(both, &each);
    run_all(each, first, "duplicate");
    MPI_Comm_free(&each);
  }
  doing("split");
  MPI_Comm_split(both, me % 2, 0, &each);  // some of each job
  run_all(each, 0, "split");
  MPI_Comm_free(&each);
  MPI_Comm_split(both, high, 0, &each);
  run_all(each, 0, "own job");
  MPI_Comm_free(&each);
  doing("disconnect");
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&inter);
}

// Before MPI_Init: the parameters of the children.
static void set_parameters(int argc, char** argv) {
  if (!has_option(argc, argv, "--spawned")) return;
  for (int i = 1; i + 1 < argc; ++i) {
    char name[128];
    const char* const equals = strchr(argv[i + 1], '=');
    if (strcmp(argv[i], "--child") != 0 || equals == NULL) continue;
    snprintf(name, sizeof name, "OMPI_MCA_%.*s", (int)(equals - argv[i + 1]), argv[i + 1]);
    setenv(name, equals + 1, 1);
  }
}

int main(int argc, char** argv) {
  set_parameters(argc, argv);
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  return run_with_children(argc, argv, together);
}
