// MemberRegions: the region handles of all members of a window. A handle has 192 bytes, with room for each kind of
// link. This table takes no memory for a part of the handles that is equal at all members with memory. For any other
// part, which is the name, or the key or base of a link, it takes 8 bytes for each member.
//
//   MemberRegions regions;
//   regions.set(ranks, [&](std::uint32_t rank) -> const RegionHandle& { return facts[rank].region; });
//   const RegionHandle region = regions.at(3, facts[3].base, facts[3].size);
//
// Invariant: at() returns the handle that set() was given, without LinkRegion::local, which has a meaning at its owner
// alone. Held by tests/unit/services/windows/member_regions_test.cpp.
// Threads: const after set().
#pragma once

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
    *this = {};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) compare(handle_of(rank));
    for (const OnLink& link : links_)
      own_words_ += (link.own_key ? 1u : 0u) + (link.own_base ? 1u : 0u);
    if (own_names_) names_.reserve(ranks);
    own_.reserve(std::size_t{ranks} * own_words_);
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
  // The key of all members, and whether their base is the memory's address or 0. Own ones of the members are in own_.
  struct OnLink {
    std::uint64_t key = 0;
    bool at_address = false;
    bool own_key = false;
    bool own_base = false;
  };

  static Name name_of(const RegionHandle& handle) noexcept {
    return {handle.id, handle.generation};
  }
  void compare(const RegionHandle& handle) noexcept;
  void keep(const RegionHandle& handle);

  bool any_ = false;  // member has memory
  Name name_;         // of all members, unless they have own names
  bool own_names_ = false;
  std::array<OnLink, LinkTraits::kKinds> links_;
  std::uint32_t own_words_ = 0;
  std::vector<Name> names_;  // by rank, if the members have own names
  // own_words_ for each rank: by link its key and its base, where the members have own ones.
  std::vector<std::uint64_t> own_;
};

}  // namespace lfc
