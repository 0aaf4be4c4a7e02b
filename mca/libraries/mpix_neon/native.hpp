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
inline constexpr const char* kNativeSymbol = "lfc_neon_native_3";
// Not collective: whether this process could serve the window natively.
struct Native {
  bool (*serves)(MPI_Win win);
  // A number of this window that is the same on all of its ranks; 0: not served.
  int (*number)(MPI_Win win);
  // Collective over `comm`, the window's ranks in their order; null: no.
  Endpoint* (*open)(MPI_Win win, MPI_Comm comm, const Exposure& memory);
};

int native_number(MPI_Win win);
// Collective over `comm`: native only if it is on all ranks.
std::unique_ptr<Endpoint> open_native(MPI_Win win, MPI_Comm comm, const Exposure& memory);

}  // namespace lfc::neon
