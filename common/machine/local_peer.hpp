// Which processes are local peers: those on one node that can share memory: they may open each other's descriptors
// through /proc, or hand them over (machine/hand_over.hpp).
//
//   std::optional<ProcessSpace> own = own_space(why_not);       // published, plain bytes
//   if (own && is_local_peer(*own, theirs, why_not)) share_memory();
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

// Where the numbers of processes and users mean something. All 0: this process can share memory with nobody.
struct ProcessSpace {
  std::uint64_t boot = 0;           // hash of the kernel's boot id
  std::uint64_t pid_namespace = 0;  // inodes
  std::uint64_t user_namespace = 0;
  std::uint64_t net_namespace = 0;
  std::uint64_t user = 0;    // effective, in that namespace
  std::uint64_t hidden = 0;  // 1: not dumpable, or under /proc another process than itself
};
static_assert(sizeof(ProcessSpace) == 48);

std::optional<ProcessSpace> own_space(std::string& why_not);
// By what is published; of user namespaces the kernel knows more, and may still refuse.
bool is_local_peer(const ProcessSpace& own, const ProcessSpace& other, std::string& why_not);
// Whether, of local peers, each opens the other's memory through /proc. Else both hand theirs over.
bool may_open(const ProcessSpace& own, const ProcessSpace& other) noexcept;

// Hash of the kernel's boot id, the same in all containers of a node; 0 when it cannot be read.
std::uint64_t boot_hash() noexcept;

}  // namespace lfc
