// NamedPool: a thing in use has a unique name; a returned one is used again under a new name.
#include "base/named_pool.hpp"

#include <cstdint>
#include <stdexcept>

#include "catch.hpp"

using namespace lfc;

namespace {

int alive = 0;
struct Thing {
  Thing() { ++alive; }
  ~Thing() { --alive; }
  std::uint64_t name = 0;
};

}  // namespace

TEST_CASE("a thing is found by its name until it is given back, and then used again",
          "[named_pool]") {
  NamedPool<Thing> pool;
  Thing& first = pool.take();
  const std::uint64_t name = first.name;
  REQUIRE(name != 0);
  REQUIRE(pool.find(name) == &first);
  REQUIRE(pool.find(name_of(index_of(name) + 1, generation_of(name))) == nullptr);
  REQUIRE(pool.find(name_of(index_of(name), generation_of(name) + 1)) == nullptr);
  REQUIRE(pool.find(0) == nullptr);
  pool.give_back(first);
  REQUIRE(pool.find(name) == nullptr);
  Thing& again = pool.take();
  REQUIRE(&again == &first);
  REQUIRE(again.name != name);
  REQUIRE(pool.find(name) == nullptr);
}

TEST_CASE("a thing that cannot be prepared is not in the pool, and none is left behind",
          "[named_pool]") {
  {
    NamedPool<Thing> pool;
    REQUIRE_THROWS(pool.take([](Thing&) { throw std::runtime_error("no memory"); }));
    int seen = 0;
    pool.take();
    pool.for_each([&](Thing&) { ++seen; });
    REQUIRE(seen == 1);
  }
  REQUIRE(alive == 0);
}
