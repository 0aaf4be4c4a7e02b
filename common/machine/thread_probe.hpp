// why_no_thread: whether this process may have one more thread.
//
//   const std::string refusal = why_no_thread();
//   if (!refusal.empty()) report_to_user(refusal);
//
// Starts a thread that ends at once, because the kernel does not report which limit is reached: that of the user
// (`ulimit -u`), that of a container's control group (`pids.max`), memory for the stack, or a filter of system calls.
// Held by tests/unit/engine/thread_refused_test.cpp. Threads: any.
#pragma once

#include <string>

namespace lfc {

// Returns the reason of the kernel and the limits to look at; empty: a thread can be started.
std::string why_no_thread();

}  // namespace lfc
