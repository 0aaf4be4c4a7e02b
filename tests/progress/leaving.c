// The inner ranks of a chain leave a collective and compute. Packets that come then pass through their nodes although
// their helper threads rest for half a second: a rank that leaves sets a timer, which ends the rest. Counted at the
// inner ranks, which make no MPI call until the packets are through.
//
//   mpirun -n 4 --mca coll_lfc_fan 1 --mca btl_lfc_watch_interval 1000000 progress_leaving      # one rank per node
#include "counters.h"
#include "variables.h"

enum { kTries = 20 };
enum {
  kLeft,     // inner ranks that have left
  kThrough,  // collectives whose packets have passed through the inner ranks
  kServed,  // inner ranks whose timers have let their threads find work, for each kind of collective
  kDone,    // ranks that have ended a try
};

static MPI_T_pvar_handle turns, served;
static unsigned inner_ranks, tries;
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

// Returns whether this rank's timer has let its thread find work to do while the rank computed.
static bool compute(void) {
  const unsigned long long turns_before = read_variable(turns), before = read_variable(served);
  count_up(kLeft);
  sleep_until(kThrough, tries);
  while (read_variable(turns) == turns_before)
    pause_seconds(0.0002);  // it forwards, and then counts
  return read_variable(served) != before;
}

// The second broadcast passes through ranks that have left the first one.
static bool broadcast(void) {
  int64_t number = me == 0 ? 7 : 0;
  MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const bool by_timer = is_inner && compute();
  if (me == 0) sleep_until(kLeft, tries * inner_ranks);
  MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (me == ranks - 1) count_up(kThrough);
  require(number == 7, "%lld, not 7", (long long)number);
  return by_timer;
}

// The last rank is late, so its part passes through ranks that have left the reduction.
static bool reduce(void) {
  const int64_t mine = me + 1;
  int64_t sum = 0;
  if (me == ranks - 1) sleep_until(kLeft, tries * inner_ranks);
  MPI_Reduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0) count_up(kThrough);
  require(me != 0 || sum == (int64_t)ranks * (ranks + 1) / 2, "sum %lld", (long long)sum);
  return is_inner && compute();
}

// Tries until each inner rank has been served by its timer. A try fails if the rests have not grown, or if a report of
// the rank before has been of no use. No other collective is called: leaving it for a moment would be of no use.
static void serve_by_timers(const char* name, bool (*run)(void)) {
  const unsigned all = count_of(kServed) + inner_ranks;
  bool by_timer = false;
  for (int left = kTries; count_of(kServed) != all; --left) {
    require(left > 0, "%s: the timers of %u inner ranks have let no thread find work", name,
            all - count_of(kServed));
    doing("%s, try %d", name, kTries - left);
    lengthen_rests();
    ++tries;
    if (run() && !by_timer) {
      by_timer = true;
      count_up(kServed);
    }
    count_up(kDone);
    sleep_until(kDone, tries * (unsigned)ranks);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks > 2 && ranks % 2 == 0, "needs pairs, and inner ranks");
  require(open_counters(), "needs ranks that share a kernel");
  open_variables();
  is_inner = me != 0 && me != ranks - 1;
  inner_ranks = (unsigned)ranks - 2;
  turns = variable_called("btl_lfc_thread_turns");
  served = variable_called("btl_lfc_leaves_served");
  serve_by_timers("broadcast", broadcast);
  serve_by_timers("reduce", reduce);
  close_variables();
  return check_end();
}
