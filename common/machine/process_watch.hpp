// ProcessWatch: whether another process of this node still runs.
//
// It uses a pidfd, which reports a zombie as ended and does not confuse a pid that is used again. If the kernel has no
// pidfd, or no descriptor is left, it uses kill(pid, 0). Each query is one system call, so it is for slow paths.
// All watches of a process share one descriptor.
//
//   ProcessWatch watch(pid);
//   if (watch.dead()) ...
//
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>

#include "machine/file_descriptor.hpp"

namespace lfc {

class ProcessWatch {
 public:
  explicit ProcessWatch(std::uint32_t pid) noexcept;
  // Watches by a pidfd that the process has handed over; if that is not open, dead() is always false.
  explicit ProcessWatch(FileDescriptor process);
  bool dead() const noexcept;

 private:
  std::uint32_t pid_;
  std::shared_ptr<const FileDescriptor> process_;  // null: there is none
};

}  // namespace lfc
