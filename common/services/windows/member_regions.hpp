// MemberRegions: the region handles of all members of a window. A handle has 216 bytes, with room for eight links. This
// table takes no memory for a part of the handles that is equal at all members. For any other part it takes 8 bytes for
// each member, or 16 for each link.
//
//   MemberRegions regions;
//   regions.set(ranks, [&](std::uint32_t rank) -> const RegionHandle& { return facts[rank].region; });
//   const RegionHandle region = regions.at(3, facts[3].base, facts[3].size);
//
// Invariant: at() returns the handle that set() was given, without LinkRegion::local, which has a meaning at its owner
// alone. Held by tests/unit/services/windows/member_regions_test.cpp.
// Threads: const after set().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "link/region.hpp"

namespace lfc {

class MemberRegions {
 public:
  // Takes the handles of all ranks.
  template <class HandleOf>
  void set(std::uint32_t ranks, HandleOf handle_of) {
    if (ranks == 0) return;
    begin(handle_of(0));
    for (std::uint32_t rank = 1; rank < ranks; ++rank) compare(handle_of(rank));
    own_links_ = static_cast<std::uint32_t>(
        std::count_if(links_.begin(), links_.end(), [](const OnLink& link) { return link.own; }));
    if (own_names_) names_.reserve(ranks);
    own_.reserve(std::size_t{ranks} * own_links_);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) keep(handle_of(rank));
  }
  // `address` and `size`: of the member's memory. Without memory, a member has an empty handle.
  RegionHandle at(std::uint32_t rank, std::uint64_t address, std::uint64_t size) const noexcept;

 private:
  struct Name {
    std::uint32_t id = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Place {
    std::uint64_t key;
    std::uint64_t base;
  };
  struct OnLink {
    std::uint64_t key = 0;    // at all members, unless they are the members' own
    bool at_address = false;  // LinkRegion::base is the memory's address, else 0
    bool own = false;         // key or base differ: they are in own_
  };

  static Name name_of(const RegionHandle& handle) noexcept {
    return {handle.id, handle.generation};
  }
  void begin(const RegionHandle& first) noexcept;
  void compare(const RegionHandle& handle) noexcept;
  void keep(const RegionHandle& handle);

  Name name_;
  bool own_names_ = false;
  std::array<OnLink, kMaxLinks> links_;
  std::uint32_t own_links_ = 0;
  std::vector<Name> names_;  // by rank, if the members have own names
  std::vector<Place> own_;   // by rank, and by link among those with own places
};

}  // namespace lfc
