// Layouts: regular patterns become one run, and walks visit the packed bytes in order.
#include "elements/layout.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

// The offsets of all packed bytes, one by one.
std::vector<std::int64_t> bytes_of(Cursor cursor, std::uint64_t step) {
  std::vector<std::int64_t> offsets;
  for (Piece piece; cursor.next(step, piece);)
    for (std::uint64_t i = 0; i < piece.length; ++i)
      offsets.push_back(piece.offset + static_cast<std::int64_t>(i));
  return offsets;
}

}  // namespace

TEST_CASE("a vector is one run, and adjacent pieces are one piece", "[layout]") {
  Layout layout;
  for (int i = 0; i < 1000; ++i) layout.add(i * 24, 8);
  REQUIRE(layout.runs().size() == 1);
  REQUIRE(layout.runs()[0].repeat == 1000);
  REQUIRE(layout.size() == 8000);
  Layout solid;
  for (int i = 0; i < 10; ++i) solid.add(i * 8, 8);
  REQUIRE(solid.runs().size() == 1);
  REQUIRE(solid.runs()[0].length == 80);
}

TEST_CASE("a walk visits the bytes of all pieces in the order in which they were added",
          "[layout]") {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    Layout layout;
    std::vector<std::int64_t> expected;
    std::int64_t at = static_cast<std::int64_t>(random.below(100)) - 50;
    const std::uint64_t count = 1 + random.below(3);
    for (std::uint64_t pieces = 1 + random.below(20); pieces > 0; --pieces) {
      const std::uint64_t length = 1 + random.below(random.chance(500) ? 2 : 9);
      layout.add(at, length);
      for (std::uint64_t i = 0; i < length; ++i)
        expected.push_back(at + static_cast<std::int64_t>(i));
      at += static_cast<std::int64_t>(random.below(24)) - 4;
    }
    layout.set_extent(1000);
    const std::size_t one = expected.size();
    for (std::uint64_t i = 1; i < count; ++i)
      for (std::size_t b = 0; b < one; ++b)
        expected.push_back(expected[b] + 1000 * static_cast<std::int64_t>(i));
    REQUIRE(layout.size() == one);
    REQUIRE(bytes_of(Cursor(layout, count, 0), 1 + random.below(12)) == expected);
    Cursor later(layout, count, 0);
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t place = random.below(expected.size() + 1);
      const std::vector<std::int64_t> rest(expected.begin() + static_cast<std::ptrdiff_t>(place),
                                           expected.end());
      later.seek(place);
      REQUIRE(bytes_of(later, 5) == rest);
    }
    Bounds bounds;
    REQUIRE(layout.bounds(count, bounds));
    REQUIRE(bounds.low == *std::min_element(expected.begin(), expected.end()));
    REQUIRE(bounds.high == *std::max_element(expected.begin(), expected.end()) + 1);
  }
}

TEST_CASE("scatter undoes gather", "[layout]") {
  Layout layout;
  for (int i = 0; i < 9; ++i) layout.add(i * 16 + (i % 3), 5);
  layout.set_extent(160);
  std::vector<std::byte> memory(1000);
  std::vector<std::byte> packed(layout.size() * 3);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(i * 7 + 1);
  Cursor to(layout, 3, 100);
  scatter(to, memory.data(), packed.data(), packed.size());
  REQUIRE(to.done());
  std::vector<std::byte> back(packed.size());
  Cursor from(layout, 3, 100);
  gather(from, memory.data(), back.data(), 33);
  gather(from, memory.data(), back.data() + 33, back.size() - 33);
  REQUIRE(back == packed);
}

TEST_CASE("bounds that 64 bits do not hold are refused", "[layout]") {
  Bounds bounds;
  const Run far{INT64_MAX - 4, 8, 0, 1};
  const Run wide{0, 8, INT64_MAX / 2, 4};
  const Run many{0, 8, 8, UINT64_MAX};
  for (const Run& run : {far, wide, many}) REQUIRE_FALSE(bounds_of({&run, 1}, bounds));
}

}  // namespace lfc
