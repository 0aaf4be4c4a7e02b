// Local peers: processes on one node that can share memory. They may open each other's descriptors
// through /proc, or hand them over (machine/hand_over.hpp).
//
//   std::optional<ProcessSpace> own = own_space(why_not);       // published, plain bytes
//   if (own && is_local_peer(*own, theirs, why_not)) share_memory();
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

// The scope of the numbers of processes and users. All 0: this process can share memory with no other.
struct ProcessSpace {
  std::uint64_t boot = 0;           // hash of the kernel's boot id
  std::uint64_t pid_namespace = 0;  // inodes
  std::uint64_t user_namespace = 0;
  std::uint64_t net_namespace = 0;
  std::uint64_t user = 0;    // effective, in that namespace
  std::uint64_t hidden = 0;  // 1: not dumpable, or /proc shows it as another process
};
static_assert(sizeof(ProcessSpace) == 48);

std::optional<ProcessSpace> own_space(std::string& why_not);
// Decides by the published facts; the kernel knows more of user namespaces, and may still refuse.
bool is_local_peer(const ProcessSpace& own, const ProcessSpace& other, std::string& why_not);
// Returns whether two local peers open each other's memory through /proc. If not, both hand theirs over.
bool may_open(const ProcessSpace& own, const ProcessSpace& other) noexcept;

// The hash of the kernel's boot id, the same in all containers of a node; 0: it cannot be read.
std::uint64_t boot_hash() noexcept;

}  // namespace lfc
