// Puts of one origin to one tag that overlap: the later one wins.
#include <algorithm>

#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon {
namespace {

constexpr std::size_t kLarge = 50000;

// A buffer of rank 0 whose announcements rank 1 gets without a request from its second round on. Links keep the order
// of frames, but not that of frames and direct writes.
struct Granted {
  World world;
  Buffer buffer{kLarge, {1}, 7};

  explicit Granted(std::uint64_t seed) : world(2, {.seed = seed, .writes = true}) {
    buffer.token = world[0].expose(buffer);
    Op first;
    REQUIRE(put(world, first, 1, 0, 7, 0, pattern(kLarge, 1)) == Status::ok);
    announce();
    REQUIRE(buffer.times == 1);
    announce();
  }
  void announce() {
    REQUIRE(world.run());
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(world.run());
  }
};

}  // namespace

TEST_CASE("a large put does not overtake a small one to the same bytes", "[neon]") {
  Granted granted(GENERATE(range(1u, 21u)));
  const auto data = pattern(kLarge, 2);
  Op small, large;
  REQUIRE(put(granted.world, small, 1, 0, 7, 1000, pattern(100, 3), false) == Status::ok);
  REQUIRE(put(granted.world, large, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(granted.world.run());
  REQUIRE(granted.buffer.times == 2);
  REQUIRE(granted.buffer.memory == data);
}

TEST_CASE("a large put does not overtake a large one to the same bytes", "[neon]") {
  Granted granted(GENERATE(range(1u, 21u)));
  const auto before = pattern(20000, 2);
  const auto after = pattern(20000, 3);
  auto expected = granted.buffer.memory;
  std::copy(before.begin(), before.end(), expected.begin());
  std::copy(after.begin(), after.end(), expected.begin() + 19999);
  Op first, second;
  REQUIRE(put(granted.world, first, 1, 0, 7, 0, before, false) == Status::ok);
  REQUIRE(put(granted.world, second, 1, 0, 7, 19999, after) == Status::ok);
  REQUIRE(granted.world.run());
  REQUIRE(granted.buffer.times == 2);
  REQUIRE(granted.buffer.memory == expected);
}

TEST_CASE("large puts to bytes of their own go straight into the buffer", "[neon]") {
  Granted granted(5);
  const std::uint64_t before = granted.world[1].neon.statistics().written;
  Op small, first, second;
  REQUIRE(put(granted.world, small, 1, 0, 7, 0, pattern(100, 2), false) == Status::ok);
  REQUIRE(put(granted.world, first, 1, 0, 7, 100, pattern(20000, 3), false) == Status::ok);
  REQUIRE(put(granted.world, second, 1, 0, 7, 20100, pattern(20000, 4)) == Status::ok);
  REQUIRE(granted.world.writes.size() == 2);
  REQUIRE(granted.world.run());
  REQUIRE(granted.buffer.times == 2);
  REQUIRE(granted.world[1].neon.statistics().written == before + 2);
}

}  // namespace lfc::neon
