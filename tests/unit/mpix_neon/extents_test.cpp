// Which bytes are inside a NEON window, for any displacement.
#include "../../../mca/libraries/mpix_neon/extents.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "catch.hpp"

using namespace lfc::neon;

namespace {

// Rank 0 has 100 bytes in units of 1, rank 1 (this one) has 80 in units of 8, and rank 2 has none.
struct Window {
  Window() {
    extents.set_own(memory.data(), memory.size(), false);
    constexpr std::array<std::uint64_t, 3> kSizes{100, 80, 0};
    constexpr std::array<std::ptrdiff_t, 3> kUnits{1, 8, 1};
    extents.set_all(
        1, 3, [&](Rank rank) { return kSizes[rank]; }, [&](Rank rank) { return kUnits[rank]; });
  }
  bool holds(Rank target, std::ptrdiff_t disp, std::int64_t begin, std::int64_t end) {
    return extents.holds(target, disp, begin, end, offset);
  }
  std::array<std::byte, 80> memory{};
  Extents extents;
  std::uint64_t offset = 0;
};

constexpr std::ptrdiff_t kFarthest = std::numeric_limits<std::ptrdiff_t>::max();

}  // namespace

TEST_CASE("displacements count in the target's units", "[neon]") {
  Window window;
  CHECK(window.holds(0, 90, 0, 10));
  CHECK(window.offset == 90);
  CHECK_FALSE(window.holds(0, 91, 0, 10));
  CHECK(window.holds(1, 9, 0, 8));
  CHECK(window.offset == 72);
  CHECK_FALSE(window.holds(1, 9, 0, 9));
  CHECK_FALSE(window.holds(1, 11, 0, 0));
  CHECK(window.holds(2, 0, 0, 0));
  CHECK_FALSE(window.holds(2, 0, 0, 1));
}

TEST_CASE("an extent that begins before its displacement must also lie in the window", "[neon]") {
  Window window;
  CHECK(window.holds(0, 20, -20, 0));
  CHECK_FALSE(window.holds(0, 20, -21, 0));
  CHECK_FALSE(window.holds(0, -1, 1, 2));
}

TEST_CASE("no displacement wraps into the window", "[neon]") {
  Window window;
  CHECK_FALSE(window.holds(0, kFarthest, 0, 8));
  CHECK_FALSE(window.holds(1, kFarthest, 0, 8));
  CHECK_FALSE(window.holds(1, kFarthest / 4 + 1, 0, 8));  // times 8: beyond 2^64 by 8
  CHECK(window.extents.place(kFarthest, 1) == nullptr);
  CHECK(window.extents.place(kFarthest / 4 + 1, 1) == nullptr);
  CHECK(window.extents.place(-1, 1) == nullptr);
}

TEST_CASE("this process's memory is found at its own displacements", "[neon]") {
  Window window;
  CHECK(window.extents.place(0, 80) == window.memory.data());
  CHECK(window.extents.place(9, 8) == window.memory.data() + 72);
  CHECK(window.extents.place(9, 9) == nullptr);
  CHECK(window.extents.place(10, 0) == window.memory.data() + 80);
  CHECK(window.extents.has(0));
  CHECK(window.extents.has(2));
  CHECK_FALSE(window.extents.has(3));
  CHECK_FALSE(window.extents.has(-1));
}

TEST_CASE("windows of the same size on all ranks are known by rank, too", "[neon]") {
  std::array<std::byte, 80> memory{};
  Extents extents;
  extents.set_own(memory.data(), memory.size(), false);
  extents.set_all(
      1, 3, [](Rank) { return 80; }, [](Rank) { return 8; });
  CHECK(extents.ranks() == 3);
  for (const Rank target : {0u, 2u}) {
    std::uint64_t offset = 0;
    CHECK(extents.holds(target, 9, 0, 8, offset));
    CHECK(offset == 72);
    CHECK_FALSE(extents.holds(target, 9, 0, 9, offset));
  }
}

TEST_CASE("without a window displacements are addresses", "[neon]") {
  int here = 0;
  Extents extents;
  extents.set_own(nullptr, 0, true);
  extents.set_all(
      0, 1, [](Rank) { return 0; }, [](Rank) { return 1; });
  CHECK(extents.place(reinterpret_cast<std::ptrdiff_t>(&here), sizeof here) ==
        reinterpret_cast<std::byte*>(&here));
}
