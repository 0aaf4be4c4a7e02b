// Names: no two things have the same name, however many there are, and an old name finds nothing.
#include "base/name_table.hpp"

#include <array>
#include <set>

#include "catch.hpp"

namespace lfc {

TEST_CASE("a table whose names are all in use takes no more", "[name_table]") {
  NameTable<int, std::uint8_t> table(3);
  std::array<int, 8> things{};
  std::array<std::uint8_t, 8> names{};
  for (std::size_t i = 0; i < things.size(); ++i) names[i] = table.enter(things[i]);
  REQUIRE(std::set<std::uint8_t>(names.begin(), names.end()).size() == names.size());
  for (std::size_t i = 0; i < things.size(); ++i) REQUIRE(table.find(names[i]) == &things[i]);
  int one_more = 0;
  REQUIRE_THROWS_AS(table.enter(one_more), std::bad_alloc);
  for (std::size_t i = 0; i < things.size(); ++i) REQUIRE(table.find(names[i]) == &things[i]);
  table.leave(names[5]);
  REQUIRE(table.find(names[5]) == nullptr);
  const std::uint8_t name = table.enter(one_more);
  REQUIRE(name != names[5]);
  REQUIRE(table.find(name) == &one_more);
  REQUIRE(table.find(names[5]) == nullptr);
}

TEST_CASE("a name comes again only after all others of its place, and 0 is none", "[name_table]") {
  NameTable<int, std::uint8_t> table(3);
  int thing = 0;
  std::set<std::uint8_t> seen;
  for (int use = 0; use < 31; ++use) {  // 5 bits of generations, none of them 0
    const std::uint8_t name = table.enter(thing);
    REQUIRE(name != 0);
    REQUIRE(seen.insert(name).second);
    REQUIRE(table.find(name) == &thing);
    table.leave(name);
  }
  REQUIRE(seen.count(table.enter(thing)) == 1);
  REQUIRE(table.find(0) == nullptr);
}

TEST_CASE("those that are in a table may leave it one by one", "[name_table]") {
  NameTable<std::uint32_t, std::uint32_t> table(20);
  std::array<std::uint32_t, 5> names{};
  for (std::uint32_t& name : names) name = table.enter(name);
  table.leave(names[2]);
  int left = 0;
  table.for_each([&](std::uint32_t& name) {
    ++left;
    table.leave(name);
  });
  REQUIRE(left == 4);
  table.for_each([](std::uint32_t&) { FAIL(); });
}

}  // namespace lfc
