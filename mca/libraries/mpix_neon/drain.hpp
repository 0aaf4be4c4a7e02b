// drain: the end of an endpoint. Frames may still be under way when a program frees its window; when all ranks have
// called, they stop sending, exchange the numbers of frames that they have sent, and receive those.
//
//   drain(comm, sent, quiet, received, progress);     // collective
#pragma once

#include <mpi.h>

#include <span>

namespace lfc::neon {

// `sent`: frames to each rank. quiet(): nothing waits to be sent; after the first true, nothing more is sent.
// received(): frames from all ranks. progress(): one pass of Open MPI's.
template <class Quiet, class Received>
void drain(MPI_Comm comm, std::span<const int> sent, Quiet quiet, Received received,
           void (*progress)(void)) {
  // A rank that has not called yet may still wait for a reply of this one: to a get, or to a withdrawal.
  MPI_Barrier(comm);
  while (!quiet()) progress();
  int expected = 0;
  MPI_Reduce_scatter_block(sent.data(), &expected, 1, MPI_INT, MPI_SUM, comm);
  while (received() != expected) progress();
}

}  // namespace lfc::neon
