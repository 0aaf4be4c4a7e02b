// MemberRegions: it returns the handles that it was given, whichever parts of them are equal.
#include "services/windows/member_regions.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kRanks = 20;

bool equal(const RegionHandle& a, const RegionHandle& b) {
  for (std::size_t i = 0; i < LinkTraits::kKinds; ++i)
    if (a.links[i].key != b.links[i].key || a.links[i].base != b.links[i].base) return false;
  return a.id == b.id && a.generation == b.generation && a.address == b.address && a.size == b.size;
}

}  // namespace

TEST_CASE("a table of regions returns the handles that it was given", "[windows]") {
  std::mt19937 random(3);
  for (int world = 0; world < 500; ++world) {
    // For each part of a handle: are the members equal, and if not, how often does one differ?
    const bool names_differ = random() % 2 == 0;
    std::vector<int> kinds;
    for (std::size_t i = 0; i < LinkTraits::kKinds; ++i)
      kinds.push_back(static_cast<int>(random() % 5));
    std::vector<RegionHandle> handles(kRanks);
    for (RegionHandle& handle : handles) {
      if (random() % 16 == 0 && world % 2 == 0) continue;  // it has no memory
      handle.id = names_differ ? static_cast<std::uint32_t>(random() % 3) : 4;
      handle.generation = 1 + static_cast<std::uint32_t>(names_differ && random() % 2 == 0);
      handle.address = random();
      handle.size = 1 + random() % 100;
      for (std::size_t i = 0; i < LinkTraits::kKinds; ++i) {
        LinkRegion& link = handle.links[i];
        link.local = &handle;
        if (kinds[i] > 0) link.key = kinds[i] > 3 ? random() % 2 : 77;
        if (kinds[i] > 1) link.base = handle.address;
        if (kinds[i] == 3 && random() % kRanks == 0) link.base = random() % 2;
      }
    }
    MemberRegions regions;
    regions.set(kRanks, [&](std::uint32_t rank) -> const RegionHandle& { return handles[rank]; });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      REQUIRE(equal(regions.at(rank, handles[rank].address, handles[rank].size), handles[rank]));
  }
}

}  // namespace lfc
