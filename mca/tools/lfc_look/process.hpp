// Process: the kernel's data of a process: running, sleeping or stopped, since when, and its connections.
//
//   for (int pid : processes()) ...
//   describe_process(pid, rank);              // fills in state, program, threads, sockets
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot.hpp"

namespace look {

// All that there are.
std::vector<int> processes();
// The process's own pid, which differs inside a container.
std::uint32_t own_pid(int pid);
void describe_process(int pid, Rank& rank);
// Seconds since the main thread has last had a processor, if the kernel reports it.
std::optional<double> seconds_off(int pid);

}  // namespace look
