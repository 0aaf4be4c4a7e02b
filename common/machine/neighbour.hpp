// Which processes are neighbours: those on one host that see each other's process ids and may open each other's
// descriptors, and so can share memory.
//
//   std::optional<ProcessSpace> own = own_space(why_not);       // published, plain bytes
//   if (own && is_neighbour(*own, theirs, why_not)) share_memory();
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

// Where a process id means something. All 0: this process can share memory with nobody.
struct ProcessSpace {
  std::uint64_t boot = 0;           // hash of the kernel's boot id
  std::uint64_t pid_namespace = 0;  // inode
  std::uint64_t user = 0;           // effective
};
static_assert(sizeof(ProcessSpace) == 24);

std::optional<ProcessSpace> own_space(std::string& why_not);
bool is_neighbour(const ProcessSpace& own, const ProcessSpace& other, std::string& why_not);

// Hash of the kernel's boot id, the same in all containers of a host; 0 when it cannot be read.
std::uint64_t boot_hash() noexcept;

}  // namespace lfc
