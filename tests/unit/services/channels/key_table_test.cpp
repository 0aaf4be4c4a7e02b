#include "services/channels/protocol/key_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "catch.hpp"

namespace {

using lfc::channels::End;
using lfc::channels::KeyTable;
using lfc::channels::Name;

struct Object {
  End end;
};
std::unique_ptr<Object> object_of(const Name& name) {
  return std::make_unique<Object>(Object{{.name = name}});
}

// Returns the most places that a look-up examines if these keys enter a table of so many places one by one.
std::size_t longest_search(std::int32_t count, Name (*name)(std::int32_t), std::size_t places) {
  std::vector<bool> taken(places);
  std::size_t longest = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    std::size_t at = lfc::channels::hash_of(name(i)) >> (64 - std::countr_zero(places));
    std::size_t examined = 1;
    for (; taken[at]; at = (at + 1) % places) ++examined;
    taken[at] = true;
    longest = std::max(longest, examined);
  }
  return longest;
}

// Fills the table with `count` keys and takes all away again.
void fill_and_empty(std::int32_t count, Name (*name)(std::int32_t)) {
  KeyTable<Object> table;
  const std::size_t fewest = table.count();
  for (std::int32_t i = 0; i < count; ++i) table.add(object_of(name(i)));
  CHECK(table.size() == static_cast<std::size_t>(count));
  CHECK(table.count() <= 4 * table.size());
  CHECK(longest_search(count, name, table.count()) <= 32);
  for (std::int32_t i = 0; i < count; ++i) {
    Object* const found = table.find(name(i));
    REQUIRE(found != nullptr);
    REQUIRE(found->end.name == name(i));
    table.erase(*found);
    if (table.size() * 16 > fewest) REQUIRE(table.count() < 16 * table.size() + 16);
  }
  CHECK(table.count() == fewest);
}

}  // namespace

TEST_CASE("a table of keys finds each in few places, and shrinks with them", "[channels]") {
  SECTION("tags") {
    fill_and_empty(20000, [](std::int32_t i) { return Name{3, 1, i}; });
  }
  SECTION("tags in steps") {
    fill_and_empty(20000, [](std::int32_t i) { return Name{3, 1, i << 10}; });
  }
  SECTION("ranks") {
    fill_and_empty(20000, [](std::int32_t i) { return Name{3, i, 7}; });
  }
  SECTION("communicators") {
    fill_and_empty(20000, [](std::int32_t i) { return Name{static_cast<std::uint32_t>(i), 1, 7}; });
  }
  SECTION("ranks and tags") {
    fill_and_empty(20000, [](std::int32_t i) { return Name{3, i / 100, i % 100}; });
  }
}

TEST_CASE("a table of keys agrees with a map", "[channels]") {
  std::uint64_t random = 88172645463325252U;
  KeyTable<Object> table;
  std::map<std::int32_t, Object*> map;
  for (int step = 0; step < 200000; ++step) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const auto tag = static_cast<std::int32_t>(random % 64);
    const auto at = map.find(tag);
    REQUIRE(table.find(Name{1, 2, tag}) == (at == map.end() ? nullptr : at->second));
    if (at == map.end()) {
      map[tag] = &table.add(object_of({1, 2, tag}));
    } else if (random >> 32 & 1) {
      table.erase(*at->second);
      map.erase(at);
    }
    REQUIRE(table.size() == map.size());
  }
}
