// HandOver: a way to pass memory to a local peer that may not open it as /proc/PID/fd/FD. The peer sends a request to a
// socket whose name is in no file system, and receives the descriptor. It is needed between user namespaces and pid
// namespaces (a container for each rank), for programs that are not dumpable, and if /proc does not show them.
//
//   hand_over::offer(name, file);              // may be requested as long as `file` exists
//   hand_over::serve();                        // starts a thread, once it is known that a peer needs it
//   Handed got = hand_over::request(name, why_not);     // in the other process
//
// Only processes of the same user of the kernel get a descriptor, even if their namespaces give that user different
// numbers. They must be in the same network namespace, to which such names belong. A descriptor that was handed over
// passes the same checks as one that was opened (shared_memory.hpp).
// Threads: any. *Held by* tests/unit/machine/hand_over_test.cpp, tests/fault/containers.sh.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "machine/file_descriptor.hpp"

namespace lfc::hand_over {

// The name of memory: the first word is that of the process that serves it; the second is random.
using Cookie = std::array<std::uint64_t, 2>;
// Returns a new cookie of this process; zeros: the kernel has no random numbers, see errno.
Cookie new_cookie() noexcept;

void offer(const Cookie& cookie, const std::shared_ptr<const FileDescriptor>& file);
// Starts to serve. False: impossible, see errno. Further calls have no effect.
bool serve() noexcept;

struct Handed {
  FileDescriptor memory{};   // not open: refused
  FileDescriptor process{};  // pidfd of the owner; perhaps not open
  std::uint32_t pid = 0;  // of the owner, as this process numbers it; 0: in another pid namespace
};
// Requests the memory. Waits some seconds at most: for the owner to serve, if this process serves too, and for its
// reply. Empty `why_not`: the owner does not serve and need not.
Handed request(const Cookie& cookie, std::string& why_not);

}  // namespace lfc::hand_over
