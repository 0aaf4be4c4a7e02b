// Ranks share a core without being informed of it. Waiting for each other costs them little processor time, and not
// a time slice for each wait. (Only their own time counts, not that of other programs on the machine.)
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>
#include <sys/resource.h>

static double own_time(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  cpu_set_t allowed, one;
  require(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "no affinity");
  int core = 0;
  while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &allowed)) ++core;
  MPI_Allreduce(MPI_IN_PLACE, &core, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) printf("skipped: ranks are bound to cores\n");
  const int rounds = 300;
  int token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = own_time();
  for (int round = 0; round < rounds; ++round) {
    doing("round %d", round);
    MPI_Bcast(&token, 1, MPI_INT, round % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double spent = (own_time() - before) / rounds;
  printf("rank %d: %.0f us of the processor for each broadcast and barrier\n", me, spent * 1e6);
  require(spent < 1e-3, "%.0f us of the processor for each broadcast and barrier", spent * 1e6);
  return check_end();
}
