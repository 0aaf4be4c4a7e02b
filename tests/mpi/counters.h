// Shared counters: words that all ranks of a job see without a call of MPI. A rank that must stay away from MPI
// until some event waits for a count, never for a time. Include it after check.h.
//
//   enum { kThrough };
//   require(open_counters(), "needs ranks that share a kernel");  // all ranks, after check_start
//   compute_until(kThrough, ranks - 1);                           // or sleep_until
//   count_up(kThrough);                                           // the others
//
// The ranks map one file of /tmp, so they must run on one host, or on the hosts of scripts/lab. A count that never
// comes is a hang: call doing() first, to name the event that this rank waits for.
#ifndef LFC_TESTS_MPI_COUNTERS_H
#define LFC_TESTS_MPI_COUNTERS_H

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "check.h"

enum { kCounters = 64 };
static _Atomic unsigned* counters;

static inline void map_counters(int file) {
  void* mapped = MAP_FAILED;
  if (file >= 0)
    mapped = mmap(NULL, kCounters * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) counters = (_Atomic unsigned*)mapped;
}

// Maps the counters, all zero. Called by all ranks; false on all if some rank does not see the counts of the
// others.
static inline bool open_counters(void) {
  char path[] = "/tmp/lfc-counters-XXXXXX";
  int file = -1;
  if (me == 0) {
    file = mkstemp(path);
    require(file >= 0 && ftruncate(file, kCounters * sizeof *counters) == 0, "no file in /tmp");
  }
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (me != 0) file = open(path, O_RDWR);
  map_counters(file);
  if (file >= 0) close(file);
  if (counters != NULL) atomic_fetch_add(&counters[0], 1);
  MPI_Barrier(MPI_COMM_WORLD);
  int shared = counters != NULL && atomic_load(&counters[0]) == (unsigned)ranks;
  MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (me == 0) {
    unlink(path);
    atomic_store(&counters[0], 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return shared != 0;
}

static inline void count_up(int counter) { atomic_fetch_add(&counters[counter], 1); }

static inline unsigned count_of(int counter) { return atomic_load(&counters[counter]); }

// Waits until the counter has reached `count`, and leaves the processor to others.
static inline void sleep_until(int counter, unsigned count) {
  while (count_of(counter) < count) pause_seconds(0.0002);
}

// Waits until the counter has reached `count`, and makes no system call.
static inline void compute_until(int counter, unsigned count) {
  volatile double sink = 1;
  while (count_of(counter) < count)
    for (int i = 0; i < 10000; ++i) sink = sink * 0.5 + 1;
}

#endif
