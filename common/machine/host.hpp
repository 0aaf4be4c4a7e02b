// Which host this process is on, as far as memory and process ids can be shared.
//
//   std::optional<std::uint64_t> space = pid_namespace(why_not);
//   bool neighbours = boot_hash() == theirs.boot && space == theirs.space;
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

// Hash of the kernel's boot id, the same in all containers of a host; 0 when it cannot be read.
std::uint64_t boot_hash();
// The inode of the pid namespace that /proc shows, if that is the one this process counts in.
std::optional<std::uint64_t> pid_namespace(std::string& why_not);

}  // namespace lfc
