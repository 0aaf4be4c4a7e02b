// The inner ranks of a chain leave a collective and compute. Packets that come then pass through their nodes at once,
// although their helper threads rest for a second: a rank that leaves sets a timer. Counted at the inner ranks, which
// make no MPI call meanwhile: their threads find work, and no rest has ended.
//
//   mpirun -n 4 --mca coll_lfc_fan 1 --mca btl_lfc_watch_interval 1000000 progress_leaving      # one rank per node
#include "counters.h"
#include "variables.h"

enum { kTries = 4 };
enum { kLeft };  // inner ranks that have left, in all tries

static MPI_T_pvar_handle looks, served;
static unsigned inner_ranks, expected;
static bool is_inner;

// Pairs of ranks exchange messages for a second. Then the rests of their helper threads last for about half a second. A
// thread whose rank polls without finding messages would sleep instead.
static void lengthen_rests(void) {
  const double begin = MPI_Wtime();
  const int partner = me ^ 1;
  for (int more = 1; more != 0;) {
    if (me < partner) more = MPI_Wtime() - begin < 1;
    if (me < partner) MPI_Send(&more, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
    MPI_Recv(&more, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me > partner) MPI_Send(&more, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
  }
}

// Computes until the helper thread has served others, or for two seconds. Returns whether it did so within its rest.
static bool compute(void) {
  const unsigned long long looks_before = read_variable(looks), before = read_variable(served);
  const double begin = MPI_Wtime();
  count_up(kLeft);
  while (read_variable(served) == before && MPI_Wtime() - begin < 2) pause_seconds(0.0002);
  return read_variable(served) != before && read_variable(looks) == looks_before;
}

// The second broadcast passes through ranks that have left the first one.
static bool broadcast(void) {
  int64_t number = me == 0 ? 7 : 0;
  MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const bool within = !is_inner || compute();
  if (me == 0) sleep_until(kLeft, expected);
  MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  require(number == 7, "%lld, not 7", (long long)number);
  return within;
}

// The last rank is late, so its part passes through ranks that have left the reduction.
static bool reduce(void) {
  const int64_t mine = me + 1;
  int64_t sum = 0;
  if (me == ranks - 1) sleep_until(kLeft, expected);
  MPI_Reduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  const bool within = !is_inner || compute();
  require(me != 0 || sum == (int64_t)ranks * (ranks + 1) / 2, "sum %lld", (long long)sum);
  return within;
}

// Each inner rank must be served within a rest in one try at least. If the machine suspends it for half a second, its
// helper thread's rest may end by itself. No other collective is called in between: leaving it for a moment could make
// the rank set no timer the next time.
static void pass_within(const char* name, bool (*run)(void)) {
  int within = 0, all = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    doing("%s, try %d", name, tries);
    lengthen_rests();
    expected += inner_ranks;
    if (run()) within = 1;
  }
  MPI_Allreduce(&within, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  require(all, "%s: a helper thread served the nodes below it only after its rest", name);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks > 2 && ranks % 2 == 0, "needs pairs, and inner ranks");
  require(open_counters(), "needs ranks that share a kernel");
  open_variables();
  is_inner = me != 0 && me != ranks - 1;
  inner_ranks = (unsigned)ranks - 2;
  looks = variable_called("btl_lfc_thread_looks");
  served = variable_called("btl_lfc_leaves_served");
  pass_within("broadcast", broadcast);
  pass_within("reduce", reduce);
  close_variables();
  return check_end();
}
