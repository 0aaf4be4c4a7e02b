// Messages to the right neighbour only, to no other rank, and no barrier: with --mca btl_lfc_stats 1 each rank must
// show 2 connections, for any number of ranks.
#include "check.h"

enum { kLargest = 100000 };

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kLargest);
  unsigned char* in = allocate(kLargest);
  const int rounds = (int)option(argc, argv, "--rounds", 100);
  for (int round = 0; round < rounds; ++round) {
    const size_t size = round % 10 == 0 ? kLargest : (size_t)(round * 37 % 3000);
    MPI_Request request;
    doing("round %d: %zu bytes to %d, from %d", round, size, to, from);
    fill(out, size, key_of(me, to, (uint64_t)round));
    MPI_Irecv(in, kLargest, MPI_BYTE, from, round, MPI_COMM_WORLD, &request);
    MPI_Send(out, (int)size, MPI_BYTE, to, round, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    verify(in, size, key_of(from, me, (uint64_t)round), from);
  }
  // A token, twice round, so that rank 0 ends after all others have checked everything.
  for (int turn = 0; turn < 2; ++turn) {
    int token = turn;
    doing("token, turn %d, from %d", turn, from);
    if (me == 0) MPI_Send(&token, 1, MPI_INT, to, rounds, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, from, rounds, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me != 0) MPI_Send(&token, 1, MPI_INT, to, rounds, MPI_COMM_WORLD);
  }
  free(out);
  free(in);
  return check_end_quietly();
}
