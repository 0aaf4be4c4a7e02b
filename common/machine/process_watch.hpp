// ProcessWatch: tells whether another process of this host still lives.
//
// By pidfd, which knows a zombie for dead and is not fooled by a pid that is used again; by
// kill(pid, 0) where the kernel has no pidfd. One system call per question: for slow paths.
//
//   ProcessWatch watch(pid);
//   if (watch.dead()) ...
#pragma once

#include <cstdint>

#include "machine/file_descriptor.hpp"

namespace lfc {

class ProcessWatch {
 public:
  explicit ProcessWatch(std::uint32_t pid) noexcept;
  bool dead() const noexcept;

 private:
  std::uint32_t pid_;
  FileDescriptor fd_;
};

}  // namespace lfc
