#include "base/nearest.hpp"

#include <array>
#include <string_view>

#include "catch.hpp"

namespace {

constexpr std::array kNames{"links", "interfaces", "idle", "stats", "shm_slots", "verbose"};

std::string_view meant(std::string_view written) {
  const std::size_t which = lfc::nearest(kNames, written);
  return which < kNames.size() ? kNames[which] : "";
}

}  // namespace

TEST_CASE("the nearest name is the one with the fewest mistakes", "[base]") {
  REQUIRE(meant("links") == "links");
  REQUIRE(meant("interface") == "interfaces");    // one is missing
  REQUIRE(meant("inteerfaces") == "interfaces");  // one too many
  REQUIRE(meant("interfazes") == "interfaces");   // a wrong one
  REQUIRE(meant("sthm_slots") == "shm_slots");
  REQUIRE(meant("tsats") == "stats");  // two swapped, of five: one mistake of one
  REQUIRE(meant("idel") == "idle");
  REQUIRE(meant("shm-slot") == "shm_slots");  // two mistakes of two
}

TEST_CASE("a word that resembles no name has no nearest name", "[base]") {
  REQUIRE(meant("").empty());
  REQUIRE(meant("colour").empty());
  REQUIRE(meant("stxys").empty());  // two mistakes, of one
  REQUIRE(lfc::nearest({}, "links") == 0);
}
