// drain: the end of an endpoint. Frames may still be under way when a program frees its window; when all ranks have
// come, they stop sending, tell each other how many frames they have sent, and receive those.
//
//   drain(comm, sent, quiet, received, progress);     // collective
#pragma once

#include <mpi.h>

#include <span>

namespace lfc::neon {

// `sent`: frames to each rank. quiet(): nothing waits to be sent; once it has said so, nothing more is.
// received(): frames from all ranks. progress(): one pass of Open MPI's.
template <class Quiet, class Received>
void drain(MPI_Comm comm, std::span<const int> sent, Quiet quiet, Received received,
           void (*progress)(void)) {
  // Who has not come yet may still wait for an answer of ours: for what it gets, or withdraws.
  MPI_Barrier(comm);
  while (!quiet()) progress();
  int expected = 0;
  MPI_Reduce_scatter_block(sent.data(), &expected, 1, MPI_INT, MPI_SUM, comm);
  while (received() != expected) progress();
}

}  // namespace lfc::neon
