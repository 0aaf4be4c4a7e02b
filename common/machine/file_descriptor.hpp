// FileDescriptor: closes a descriptor with its owner. open_of_process: the descriptor of another process of this node,
// opened anew as /proc/PID/fd/FD, so that no message has to carry it. permit_descriptors: how many there may be.
//
//   permit_descriptors(1024);                                      // if the limit is lower and may be raised
//   FileDescriptor memory = open_of_process(pid, fd, "/memfd:", why_not);
//   if (memory.is_open()) mmap(..., memory.get(), 0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lfc {

// Moves, does not copy.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

// What a descriptor of a process refers to: "pipe:[4711]", "/memfd:name (deleted)", a path; empty: errno says why.
std::string target_of(std::uint32_t pid, int fd);

// For reading and writing; it never blocks, and nothing happens to what is not of the kind that is expected: one whose
// target begins so. Not open: `why_not` says why, and errno, if the kernel refuses.
FileDescriptor open_of_process(std::uint32_t pid, int fd, std::string_view expected,
                               std::string& why_not);

// Raises the process's own limit of open files (`ulimit -n`) to what the kernel permits, where it is less than `count`.
// Not where it suffices: programs that call select() take no descriptor above 1023.
void permit_descriptors(std::size_t count) noexcept;

}  // namespace lfc
