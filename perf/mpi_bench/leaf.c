// A leaf behind ranks that compute: rank 0 broadcasts while all ranks between it and the last one are away from MPI.
// The figure is the time from the call of rank 0, or of the last rank if that was later, until the last rank returns.
// For nodes that share a kernel, because the clock of rank 0 is compared with that of the last rank.
#include <mpi.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static const double kAway = 0.06;  // seconds that inner ranks compute after the call of rank 0
static const double kLate = 0.05;  // seconds that rank 0 waits before its call, in the second form

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void compute_until(double end) {
  while (now() < end) {
  }
}

int begin_leaf(Point* p) { return ranks >= 3 && p->size >= 2 * sizeof(double); }

// Returns the seconds of one broadcast on the last rank, and 0 elsewhere.
static double one_round(Point* p, long seed, double late) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double left = now();
  if (rank == 0) {
    const struct timespec pause = {0, (long)(late * 1e9)};
    if (late > 0) nanosleep(&pause, NULL);
    if (p->verify) fill(p->out, p->size, seed);
    const double called = now();
    memcpy(p->out, &called, sizeof called);
  } else if (rank != ranks - 1) {
    compute_until(left + late + kAway);
  }
  const double mine = now();
  MPI_Bcast(p->out, (int)p->size, MPI_BYTE, 0, MPI_COMM_WORLD);
  const double end = now();
  double called;
  memcpy(&called, p->out, sizeof called);
  if (p->verify) {
    fill(p->in, p->size, seed);
    memcpy(p->in, &called, sizeof called);
    if (memcmp(p->in, p->out, p->size) != 0) check(p->out, p->size, seed);
  }
  return rank == ranks - 1 ? end - (called > mine ? called : mine) : 0;
}

static double run_rounds(Point* p, long units, double late) {
  double seconds = 0;
  for (long i = 0; i < units; i++) seconds += one_round(p, i, late);
  return seconds;
}

double run_leaf(Point* p, long units) { return run_rounds(p, units, 0); }
double run_leaf_late(Point* p, long units) { return run_rounds(p, units, kLate); }
