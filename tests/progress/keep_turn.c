// A rank that finds all others there waits for nobody, and keeps its processor, though ranks share processors: Open MPI
// is asked to give way when idle, and counted is how often the processor was given away in the calls of a rank that is
// late.
#define _GNU_SOURCE
#include "check.h"

#include <sys/syscall.h>

enum { kCalls = 20, kMost = 15, kWidth = 4 };

static unsigned given_away;

// In place of the C library's, for all that Open MPI and its components call.
__attribute__((visibility("default"))) int sched_yield(void) {
  ++given_away;
  return (int)syscall(SYS_sched_yield);
}

static int value, in[kWidth * 64], out[kWidth * 64];

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
  require(ranks > 1 && ranks <= 64, "needs 2 to 64 ranks");
  const bool late = me == ranks - 1;
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row) {
    unsigned calls = 0;
    for (int i = 0; i < kCalls; ++i) {
      doing("%s: call %d", rows[row].name, i);
      if (late) pause_seconds(0.01);
      const unsigned before = given_away;
      rows[row].call();
      calls += given_away != before;
    }
    if (late)
      printf("%-14s gave the processor away in %u of %d calls\n", rows[row].name, calls, kCalls);
    fflush(stdout);
    // Another job may have kept an early rank from arriving within the pause.
    require(!late || calls <= kMost,
            "%s: gave the processor away in %u of %d calls that had to wait for nobody",
            rows[row].name, calls, kCalls);
  }
  // The count can be anything but nothing: who waits in earnest gives way.
  unsigned waited = given_away;
  if (late) pause_seconds(0.05);
  MPI_Barrier(MPI_COMM_WORLD);
  require(late || given_away != waited, "waited 50 ms for the late one and never gave way");
  return check_end();
}
