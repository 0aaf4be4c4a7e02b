// More communicators at a time than a node has boards for: those beyond get an error at all their ranks, none of which
// waits for another, and all can be used again when the others have gone.
//
//   coll_limit [--communicators N] [--boards N]     N communicators (50), of which those beyond N boards (16384) may
//   fail
#include "check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int count = (int)option(argc, argv, "--communicators", 50);
  const int boards = (int)option(argc, argv, "--boards", 16384);
  const int of_others = 16;  // MPI_COMM_WORLD and the like
  MPI_Comm* comms = allocate((size_t)count * sizeof(MPI_Comm));
  int refused = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < count; ++i) {
    doing("communicator %d: dup", i);
    require(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS, "communicator %d", i);
    doing("communicator %d: barrier", i);
    int failed = MPI_Barrier(comms[i]) != MPI_SUCCESS;
    int all = 0;
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(all == 0 || all == ranks, "communicator %d fails at %d of %d ranks", i, all, ranks);
    require(!failed || i + of_others >= boards, "communicator %d is refused", i);
    refused += failed;
  }
  require(count < boards || refused >= count - boards, "only %d are refused", refused);
  if (me == 0) printf("%d communicators, %d of them refused\n", count, refused);
  for (int i = 0; i < count; ++i) {
    doing("communicator %d: free", i);
    MPI_Comm_free(&comms[i]);
  }
  for (int i = 0; i < 50; ++i) {
    doing("again, %d", i);
    MPI_Comm again;
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    require(MPI_Barrier(again) == MPI_SUCCESS, "communicator %d is refused although others went",
            i);
    MPI_Comm_free(&again);
  }
  free(comms);
  return check_end();
}
