// Native: the entry to a native endpoint. The component `osc neon`, which is loaded by Open MPI and knows LFC's network
// interface, exports one function; this library finds it in the process when it is there. Neither needs the other to be
// loaded.
//
//   std::unique_ptr<Endpoint> endpoint = open_native(win, comm, memory);   // null: emulate
#pragma once

#include <mpi.h>

#include <memory>

#include "endpoint.hpp"

namespace lfc::neon {

// The name and type of the function that the component exports; the number distinguishes incompatible builds.
inline constexpr const char* kNativeSymbol = "lfc_neon_native_5";
// Not collective: whether this process could serve the window natively.
struct Native {
  bool (*serves)(MPI_Win win);
  // The component's own communicator of the window's ranks, in their order; MPI_COMM_NULL: not served.
  MPI_Comm (*communicator)(MPI_Win win);
  // Collective over `comm`, the window's ranks in their order; null: no.
  Endpoint* (*open)(MPI_Win win, MPI_Comm comm, const Exposure& memory);
};

// Not collective: the communicator of the component that serves the window natively; MPI_COMM_NULL: none does.
MPI_Comm native_communicator(MPI_Win win);
// Collective over `comm`: native only if it is on all ranks.
std::unique_ptr<Endpoint> open_native(MPI_Win win, MPI_Comm comm, const Exposure& memory);

}  // namespace lfc::neon
