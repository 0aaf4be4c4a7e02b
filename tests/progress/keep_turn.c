// A rank that finds all others present waits for none of them, and keeps its processor even if ranks share
// processors. Open MPI runs with yield_when_idle. The test counts how often a late rank yields its processor in a
// call. That rank calls when each other rank has yielded in that call, or has ended the call.
#define _GNU_SOURCE
#include "check.h"
#include "counters.h"

#include <sys/syscall.h>

enum { kCalls = 20, kMost = 5, kWidth = 4 };

static unsigned given_away;
static bool entering;  // in a call, and has not counted for it yet

// Each rank counts the calls in which it is there.
static void be_there(void) {
  if (entering) count_up(me);
  entering = false;
}
static void wait_for_others(unsigned call) {
  for (int rank = 0; rank < ranks - 1; ++rank) sleep_until(rank, call);
}

// In place of the C library's, for all that Open MPI and its components call.
__attribute__((visibility("default"))) int sched_yield(void) {
  ++given_away;
  be_there();
  return (int)syscall(SYS_sched_yield);
}

static int value, in[kWidth * kCounters], out[kWidth * kCounters];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(in, out, kWidth, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(void) {
  MPI_Allgather(in, kWidth, MPI_INT, out, kWidth, MPI_INT, MPI_COMM_WORLD);
}
static void alltoall(void) {
  MPI_Alltoall(in, kWidth, MPI_INT, out, kWidth, MPI_INT, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*call)(void);
} rows[] = {{"MPI_Barrier", barrier},
            {"MPI_Bcast", bcast},
            {"MPI_Allreduce", allreduce},
            {"MPI_Allgather", allgather},
            {"MPI_Alltoall", alltoall}};

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks > 1 && ranks <= kCounters, "needs 2 to %d ranks", kCounters);
  require(open_counters(), "needs ranks that share a kernel");
  const bool late = me == ranks - 1;
  unsigned call = 0;
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row) {
    unsigned calls = 0;
    for (int i = 0; i < kCalls; ++i) {
      doing("%s: call %d", rows[row].name, i);
      ++call;
      if (late) wait_for_others(call);
      const unsigned before = given_away;
      entering = !late;
      rows[row].call();
      be_there();
      calls += given_away != before;
    }
    if (late)
      printf("%-14s gave the processor away in %u of %d calls\n", rows[row].name, calls, kCalls);
    fflush(stdout);
    require(!late || calls <= kMost,
            "%s: gave the processor away in %u of %d calls that had to wait for nobody",
            rows[row].name, calls, kCalls);
  }
  return check_end();
}
