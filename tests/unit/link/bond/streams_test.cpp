// The two ends of a numbered stream over several rails: frames kept until acknowledged, and frames that came early.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/bond/arrivals.hpp"
#include "link/bond/retained.hpp"
#include "unit/link/bond/world.hpp"

namespace lfc {

using bond::Arrivals;
using bond::Retained;
using two_bonds::bytes_of;

TEST_CASE("retained frames are dropped by number and go again by rail", "[bond]") {
  Retained retained;
  Random random(11);
  std::uint32_t first = 0xfffffff0u;  // wraps around
  std::uint32_t next = first;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = random.below(random.chance(50) ? 60'000 : 200);
    if (retained.has_room(size, false)) {
      const auto bytes = bytes_of(size, next);
      const Slice slices[] = {{bytes.data(), size / 2}, {bytes.data() + size / 2, size - size / 2}};
      retained.push(next, {FrameType::message}, slices, 2, size,
                    static_cast<std::uint8_t>(random.below(3)));
      ++next;
    }
    if (random.chance(100)) {
      const auto rail = static_cast<std::uint8_t>(random.below(3));
      retained.forsake(rail);
      REQUIRE(retained.on_rail(rail) == 0);
      while (Retained::Frame* frame = retained.first_unsent()) {
        const bool same =
            bytes_of(frame->size, frame->number) ==
            std::vector<std::byte>(retained.bytes(*frame), retained.bytes(*frame) + frame->size);
        REQUIRE(same);
        retained.sent(*frame, 7);
      }
    }
    if (random.chance(50)) {
      first += static_cast<std::uint32_t>(random.below(next - first + 1));
      retained.acknowledge(first - 1);
    }
    REQUIRE(retained.count() == next - first);
    REQUIRE(retained.memory() <= Retained::kMostMemory);
  }
}

TEST_CASE("arrivals come in order, once, and not from too far ahead", "[bond]") {
  Arrivals arrivals;
  std::vector<std::byte> bytes(8);
  REQUIRE(arrivals.judge(1) == Arrivals::Order::due);
  REQUIRE(arrivals.judge(0) == Arrivals::Order::had);
  REQUIRE(arrivals.judge(2) == Arrivals::Order::early);
  REQUIRE(arrivals.keep(2, {FrameType::message}, bytes));
  REQUIRE(arrivals.keep(2, {FrameType::message}, bytes));
  REQUIRE_FALSE(arrivals.take_due());
  arrivals.next();
  REQUIRE(arrivals.take_due());
  REQUIRE_FALSE(arrivals.take_due());
  REQUIRE(arrivals.complete() == 2);
  REQUIRE(arrivals.memory() == 0);
  REQUIRE_FALSE(arrivals.keep(100'000, {FrameType::message}, bytes));
  const std::vector<std::byte> large(limits::kBondBytes);
  REQUIRE(arrivals.keep(4, {FrameType::message}, large));
  REQUIRE_FALSE(arrivals.keep(5, {FrameType::message}, large));
}

}  // namespace lfc
