// Process: what the kernel says of a process: whether it runs, sleeps or is stopped, since when, and its connections.
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
// What the process takes for its own number: another one inside a container.
std::uint32_t own_pid(int pid);
void describe_process(int pid, Rank& rank);
// Seconds since the main thread has last had a processor, if the kernel tells.
std::optional<double> seconds_off(int pid);

}  // namespace look
