// FileDescriptor: closes a descriptor with its owner. open_of_process() opens the descriptor of another process of this
// node anew as /proc/PID/fd/FD, so no message has to carry it. permit_descriptors() raises the limit of descriptors.
//
//   permit_descriptors(1024);                                      // if the limit is lower and may be raised
//   FileDescriptor memory = open_of_process(pid, fd, "/memfd:", why_not);
//   if (memory.is_open()) mmap(nullptr, size, PROT_READ, MAP_SHARED, memory.get(), 0);
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

// The target of a process's descriptor: "pipe:[4711]", "/memfd:name (deleted)", a path; empty: see errno.
std::string target_of(std::uint32_t pid, int fd);

// Opens it for reading and writing, if its target begins with `expected`. It never blocks, and has no effect on files
// of other kinds. Not open: `why_not` has the reason; so has errno, if the kernel refuses.
FileDescriptor open_of_process(std::uint32_t pid, int fd, std::string_view expected,
                               std::string& why_not);

// Raises the process's limit of open files (`ulimit -n`) as far as the kernel permits, if it is less than `count`.
// A limit that suffices stays, because programs that call select() take no descriptor above 1023.
void permit_descriptors(std::size_t count) noexcept;

}  // namespace lfc
