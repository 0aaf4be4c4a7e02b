// RegionTable: no access with a peer's values reaches outside the registered memory.
#include "link/region.hpp"

#include <limits>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kAll = kRemoteRead | kRemoteWrite | kRemoteAtomic;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

}  // namespace

TEST_CASE("accesses inside a region are resolved", "[region]") {
  RegionTable table;
  std::vector<std::byte> memory(100);
  const RegionHandle handle = table.add(memory.data(), memory.size(), kAll);
  REQUIRE(handle.address == reinterpret_cast<std::uint64_t>(memory.data()));
  REQUIRE(handle.size == 100);
  for (std::uint64_t offset = 0; offset <= 100; ++offset) {
    const auto* where = table.resolve(handle.id, handle.generation, handle.address + offset,
                                      100 - offset, kRemoteRead);
    REQUIRE(where == memory.data() + offset);
  }
}

TEST_CASE("no arithmetic trick leaves the region", "[region]") {
  RegionTable table;
  std::vector<std::byte> memory(100);
  const RegionHandle handle = table.add(memory.data(), memory.size(), kAll);
  const auto refused = [&](std::uint64_t address, std::uint64_t size) {
    return table.resolve(handle.id, handle.generation, address, size, kRemoteWrite) == nullptr;
  };
  const std::uint64_t base = handle.address;
  REQUIRE(refused(base, 101));
  REQUIRE(refused(base + 1, 100));
  REQUIRE(refused(base + 100, 1));
  REQUIRE(refused(base + 101, 0));
  REQUIRE(refused(base - 1, 1));
  REQUIRE(refused(base - 1, 2));
  REQUIRE(refused(0, 0));
  REQUIRE(refused(0, kHuge));
  REQUIRE(refused(base, kHuge));
  REQUIRE(refused(base + 50, kHuge - 49));         // address + size wraps to base
  REQUIRE(refused(base + 50, kHuge - base - 40));  // and to small values
  REQUIRE(refused(kHuge, 1));
  REQUIRE(refused(kHuge, kHuge));
  REQUIRE(refused(base - 10, kHuge));
}

TEST_CASE("a stale, forged or foreign handle is refused", "[region]") {
  RegionTable table;
  std::vector<std::byte> memory(64);
  const RegionHandle first = table.add(memory.data(), 64, kAll);
  const auto resolves = [&](std::uint32_t id, std::uint32_t generation) {
    return table.resolve(id, generation, first.address, 1, kRemoteRead) != nullptr;
  };
  REQUIRE(resolves(first.id, first.generation));
  REQUIRE_FALSE(resolves(first.id, first.generation + 1));
  REQUIRE_FALSE(resolves(first.id, first.generation + 2));
  REQUIRE_FALSE(resolves(first.id, 0));
  REQUIRE_FALSE(resolves(first.id + 1, first.generation));
  REQUIRE_FALSE(resolves(0xffffffffu, first.generation));

  table.remove(first);
  REQUIRE_FALSE(resolves(first.id, first.generation));
  REQUIRE_FALSE(resolves(first.id, first.generation + 1));  // the generation of a free entry

  const RegionHandle second = table.add(memory.data(), 64, kAll);
  REQUIRE(second.id == first.id);  // the slot is used again ...
  REQUIRE_FALSE(resolves(first.id, first.generation));
  REQUIRE(resolves(second.id, second.generation));
  table.remove(first);  // ... and the old handle does not remove the new region
  REQUIRE(resolves(second.id, second.generation));
  table.remove(second);
  table.remove(second);
  const RegionHandle third = table.add(memory.data(), 64, kAll);
  const RegionHandle fourth = table.add(memory.data(), 64, kAll);
  REQUIRE(third.id != fourth.id);  // removing twice did not free the slot twice
}

TEST_CASE("a region grants what it was registered for and nothing else", "[region]") {
  RegionTable table;
  std::uint64_t word = 0;
  for (std::uint32_t granted = 0; granted <= kAll; ++granted) {
    const RegionHandle handle = table.add(&word, sizeof word, granted);
    for (std::uint32_t asked = 0; asked <= kAll; ++asked) {
      const bool allowed =
          table.resolve(handle.id, handle.generation, handle.address, 8, asked) != nullptr;
      REQUIRE(allowed == ((granted & asked) == asked));
    }
  }
}

TEST_CASE("random accesses are resolved exactly when they lie inside", "[region]") {
  Random random(4);
  RegionTable table;
  std::vector<std::byte> memory(4096);
  std::vector<RegionHandle> live;
  for (int round = 0; round < 20000; ++round) {
    if (live.empty() || (live.size() < 50 && random.chance(300))) {
      const std::uint64_t start = random.below(4096);
      live.push_back(table.add(memory.data() + start, random.below(4096 - start), kAll));
    } else if (random.chance(200)) {
      const auto victim = random.below(live.size());
      table.remove(live[victim]);
      REQUIRE(table.resolve(live[victim].id, live[victim].generation, live[victim].address, 0, 0) ==
              nullptr);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      const RegionHandle& handle = live[random.below(live.size())];
      const std::uint64_t address = handle.address + random.below(5000) - 400;
      const std::uint64_t size = random.below(5000);
      const bool inside =
          address >= handle.address && address + size <= handle.address + handle.size;
      const auto* where = table.resolve(handle.id, handle.generation, address, size, kRemoteWrite);
      REQUIRE((where != nullptr) == inside);
    }
  }
}

}  // namespace lfc
