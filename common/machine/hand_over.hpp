// HandOver: how a local peer that may not open this process's memory as /proc/PID/fd/FD gets it all the same: it asks
// at a socket whose name is in no file system, and the descriptor is sent to it. That is so between user namespaces and
// pid namespaces (a container for each rank), for programs that are not dumpable, and where /proc does not show them.
//
//   hand_over::offer(name, file);              // what may be asked for, as long as `file` lives
//   hand_over::serve();                        // by a thread; once it is known that somebody will ask
//   Handed got = hand_over::ask(name, why_not);     // in the other process
//
// Only processes of the same user of the kernel's get anything, whatever their namespaces call him, and only in the
// same network namespace, to which such names belong. What is got is looked at as what was opened (shared_memory.hpp).
// Threads: any. *Held by* tests/unit/machine/hand_over_test.cpp, tests/fault/containers.sh.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "machine/file_descriptor.hpp"

namespace lfc::hand_over {

// Of memory: the first word is that of the process, under which it is asked; the second is random.
using Cookie = std::array<std::uint64_t, 2>;
// A new one of this process; zeros: the kernel has no random numbers, errno.
Cookie new_cookie() noexcept;

void offer(const Cookie& cookie, const std::shared_ptr<const FileDescriptor>& file);
// False: it cannot be; errno says why. Again and again is as once.
bool serve() noexcept;

struct Handed {
  FileDescriptor memory{};   // not open: refused
  FileDescriptor process{};  // pidfd of the owner; perhaps not open
  std::uint32_t pid = 0;     // of the owner, as this process counts; 0: in another pid namespace
};
// Waits some seconds at most: where this process serves, for who is about to; for an answer. An empty `why_not`: nobody
// serves there, nor need he.
Handed ask(const Cookie& cookie, std::string& why_not);

}  // namespace lfc::hand_over
