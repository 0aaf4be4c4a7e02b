// Calls: the common parts of the MPIX_Neon_* calls and of notified access.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "datatype_pieces.hpp"
#include "ompi_glue.h"
#include "requests.hpp"
#include "window.hpp"

namespace lfc::neon {

// Null: not attached, `error` has been reported.
Window* attached(MPI_Win win, int& error);
// The arguments that all operations have; an MPI error code, not reported.
int check(const Window& window, const void* data, int count, MPI_Datatype type, int target,
          int target_count, MPI_Datatype target_type);
// The bytes at `data` one after the other: there, or copied into the job.
const std::byte* gathered(Job& job, const void* data, const DatatypePieces& pieces);
// The place that a get of `there` reads into: `data`, or memory of the job, which spreads the bytes out at its end.
void* place_for(Job& job, void* data, const DatatypePieces& here, const DatatypePieces& there);

// MPIX_Neon_announce_init, _put and _get for windows with and without an MPI window; an MPI error code, not
// reported.
int announce_init(Window& window, std::byte* address, MPI_Aint size, int nranks, const int ranks[],
                  int tag, int flags, MPI_Request* ann);
// Stores the number of the put's round in *generation, unless that is null or the target is MPI_PROC_NULL.
int put(Window& window, const void* origin, int count, MPI_Datatype type, int target, int tag,
        MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
        MPI_Request* request, std::uint32_t* generation = nullptr);
int get(Window& window, void* origin, int count, MPI_Datatype type, int target, int tag,
        MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
        MPI_Request* request);

// Begins to wait until all that has left for (target, tag) in this round is in the target's buffer.
// MPI_ERR_RMA_CONFLICT: not now.
int confirm(Window& window, int target, int tag, std::uint32_t generation, MPI_Request* request);

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) lfc_progress();
}

}  // namespace lfc::neon
