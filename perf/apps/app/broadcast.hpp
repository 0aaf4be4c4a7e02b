// Broadcast that MPI or the program forwards.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace app {

extern const std::vector<std::string> kForwarding;
inline constexpr const char* kForwardingHelp =
    "who forwards broadcasts: MPI_Bcast's way, or this program's own binomial tree of MPI_Send";

// Broadcasts from `root` to all ranks.
void broadcast(void* data, int count, MPI_Datatype type, int root, bool host);

}  // namespace app
