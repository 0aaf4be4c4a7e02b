// SparseTable: the objects that have been made, and their places.
#include "base/sparse_table.hpp"

#include <cstdint>
#include <vector>

#include "catch.hpp"

namespace lfc {

TEST_CASE("a sparse table makes an object when it is first used, and never moves it",
          "[sparse_table]") {
  const std::uint32_t size = GENERATE(1u, 63u, 64u, 65u, 1000u);
  SparseTable<std::uint32_t> table(size);
  REQUIRE(table.size() == size);
  for (std::uint32_t i = 0; i < size; ++i) REQUIRE(table.find(i) == nullptr);
  std::vector<const std::uint32_t*> places(size);
  std::vector<std::uint32_t> made;
  for (std::uint32_t i = 0; i < size; i += 3) {
    places[i] = &table.at(i, i);
    made.push_back(i);
  }
  std::vector<std::uint32_t> visited;
  table.for_each([&](std::uint32_t& item) { visited.push_back(item); });
  CHECK(visited == made);
  for (std::uint32_t i = 0; i < size; ++i) {
    REQUIRE(table.find(i) == places[i]);
    if (i % 3 != 0) continue;
    REQUIRE(*table.find(i) == i);
    REQUIRE(&table.at(i, i + 1) == places[i]);  // no second one
  }
}

}  // namespace lfc
