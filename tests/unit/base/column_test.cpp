// Column: it returns the values that it was given, whichever of them differs.
#include "base/column.hpp"

#include <cstdint>

#include "catch.hpp"

namespace lfc {

TEST_CASE("a column returns its values, and keeps one if all are equal", "[column]") {
  Column<std::uint32_t> column(7);
  REQUIRE(column[1000] == 7u);
  const std::uint32_t size = GENERATE(1u, 2u, 5u, 64u);
  column.set(size, [](std::uint32_t) { return 3u; });
  REQUIRE(column.is_uniform());
  for (std::uint32_t i = 0; i < size; ++i) REQUIRE(column[i] == 3u);
  if (size == 1) return;
  for (std::uint32_t other = 0; other < size; ++other) {
    column.set(size, [&](std::uint32_t i) { return i == other ? 9u : 3u; });
    REQUIRE_FALSE(column.is_uniform());
    for (std::uint32_t i = 0; i < size; ++i) REQUIRE(column[i] == (i == other ? 9u : 3u));
  }
  column.set(size, [](std::uint32_t) { return 4u; });
  REQUIRE(column.is_uniform());
  REQUIRE(column[size - 1] == 4u);
}

}  // namespace lfc
