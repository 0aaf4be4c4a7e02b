// ProcessWatch: tells whether another process of this node still lives.
//
// By pidfd, which knows a zombie for dead and is not fooled by a pid that is used again; by
// kill(pid, 0) where the kernel has no pidfd, or no descriptor is left. One system call per question: for slow paths.
// However many watch a process, they share one descriptor.
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
  // By a pidfd that it has handed over; not open: nothing will be known.
  explicit ProcessWatch(FileDescriptor process);
  bool dead() const noexcept;

 private:
  std::uint32_t pid_;
  std::shared_ptr<const FileDescriptor> process_;  // null: there is none
};

}  // namespace lfc
