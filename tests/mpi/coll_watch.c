// While a rank waits long for its neighbours in collectives it watches whether they live: by as many descriptors
// as there are neighbours, however many communicators it waits on.
#include "check.h"
#include "process.h"

static void wait_long(MPI_Comm comm) {
  doing("a barrier for which rank 0 is late");
  MPI_Barrier(comm);
  if (me == 0) nanosleep(&(struct timespec){.tv_nsec = 600 * 1000 * 1000}, NULL);
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  enum { kCommunicators = 3 };
  MPI_Comm comms[kCommunicators];
  wait_long(MPI_COMM_WORLD);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  const long before = count_entries("/proc/self/fd");
  for (int i = 0; i < kCommunicators; ++i) wait_long(comms[i]);
  const long after = count_entries("/proc/self/fd");
  // The first wait may not have been long enough for all.
  require(after < before + ranks, "%ld descriptors, and %ld after %d communicators", before, after,
          kCommunicators);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_free(&comms[i]);
  return check_end();
}
