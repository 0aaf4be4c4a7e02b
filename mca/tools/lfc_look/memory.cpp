#include "memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace look {

bool Memory::read(std::uint64_t address, void* to, std::size_t size) const noexcept {
  const iovec here{to, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

// In pieces that end with a page, of which the next one may not be there.
std::string Memory::text(std::uint64_t address, std::size_t most) const {
  constexpr std::uint64_t kPage = 4096;
  std::string found;
  while (found.size() < most) {
    char piece[64];
    const std::uint64_t from = address + found.size();
    const std::size_t size = std::min(
        {sizeof piece, most - found.size(), static_cast<std::size_t>(kPage - from % kPage)});
    if (!read(from, piece, size)) break;
    const std::size_t length = strnlen(piece, size);
    found.append(piece, length);
    if (length < size) break;
  }
  return found;
}

std::vector<Mapping> Memory::mappings(std::string& problem) const {
  std::vector<Mapping> found;
  errno = 0;
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, permissions, offset, device, inode;
    Mapping mapping;
    words >> range >> permissions >> offset >> device >> inode >> std::ws;
    std::getline(words, mapping.file);
    const std::size_t dash = range.find('-');
    if (dash == std::string::npos) continue;
    mapping.begin = std::stoull(range.substr(0, dash), nullptr, 16);
    mapping.end = std::stoull(range.substr(dash + 1), nullptr, 16);
    mapping.writable = permissions.size() > 1 && permissions[1] == 'w';
    found.push_back(std::move(mapping));
  }
  if (found.empty() && errno != 0) problem = refusal(pid_, errno);
  return found;
}

std::string refusal(int pid, int error) {
  const std::string who = "process " + std::to_string(pid);
  if (error == ENOENT || error == ESRCH) return who + " does not exist";
  if (error != EPERM && error != EACCES)
    return who + " cannot be looked into" +
           (error == 0 ? "" : std::string(": ") + std::strerror(error));
  std::string scope;
  std::getline(std::ifstream("/proc/sys/kernel/yama/ptrace_scope"), scope);
  return who + " may not be looked into: its user may, or root" +
         (scope.empty() || scope == "0"
              ? ""
              : "; here (kernel.yama.ptrace_scope is " + scope + ") only root");
}

}  // namespace look
