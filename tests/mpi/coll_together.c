// All ranks broadcast at once, each on a separate communicator. On trees that can deadlock, with little room, they
// do deadlock. Prints the time of a round: "together rounds=N round_ms=X" before "ok".
//
//   coll_together [--rounds N] [--bytes N]
#include "check.h"

enum { kMostRanks = 16 };

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int rounds = (int)option(argc, argv, "--rounds", 10);
  const size_t bytes = (size_t)option(argc, argv, "--bytes", 65536);
  require(ranks <= kMostRanks, "for at most %d ranks", kMostRanks);
  MPI_Comm comms[kMostRanks];
  MPI_Request requests[kMostRanks];
  unsigned char* data[kMostRanks];
  for (int root = 0; root < ranks; ++root) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[root]);
    data[root] = allocate(bytes);
  }
  double start = 0;
  for (int round = -1; round < rounds; ++round) {  // the first one makes the connections
    doing("round %d", round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round == 0) start = MPI_Wtime();
    fill(data[me], bytes, key_of(me, 0, (uint64_t)round));
    for (int root = 0; root < ranks; ++root)
      MPI_Ibcast(data[root], (int)bytes, MPI_BYTE, root, comms[root], &requests[root]);
    MPI_Waitall(ranks, requests, MPI_STATUSES_IGNORE);
    for (int root = 0; root < ranks; ++root)
      verify(data[root], bytes, key_of(root, 0, (uint64_t)round), root);
  }
  if (me == 0)
    printf("together rounds=%d round_ms=%.2f\n", rounds, (MPI_Wtime() - start) * 1e3 / rounds);
  for (int root = 0; root < ranks; ++root) {
    MPI_Comm_free(&comms[root]);
    free(data[root]);
  }
  return check_end();
}
