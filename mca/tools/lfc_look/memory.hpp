// Memory: that of another process, read without its doing anything and without stopping it.
//
//   Memory memory(pid);
//   std::uint64_t word;
//   if (!memory.read(address, &word, sizeof word)) ...          // not there, or not permitted: errno
//   for (const Mapping& mapping : memory.mappings(problem)) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace look {

struct Mapping {
  std::uint64_t begin = 0, end = 0;
  bool writable = false;
  std::string file;
};

class Memory {
 public:
  explicit Memory(int pid) noexcept : pid_(pid) {}

  bool read(std::uint64_t address, void* to, std::size_t size) const noexcept;
  // The text that ends at the first zero, or after so many bytes; empty where there is no memory.
  std::string text(std::uint64_t address, std::size_t most) const;
  // Empty: `problem` has the reason in one line, unless the process has no mappings.
  std::vector<Mapping> mappings(std::string& problem) const;

 private:
  int pid_;
};

// Why a process cannot be looked into, for the user.
std::string refusal(int pid, int error);

}  // namespace look
