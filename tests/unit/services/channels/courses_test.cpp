// All short sequences of messages, starts, other receives, cancels and probes, compared with matching as MPI defines
// it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "matching_world.hpp"

namespace {

using channels_test::kBefore;
using channels_test::kSteps;
using channels_test::run;
using channels_test::World;

bool course_is_right(std::string_view before, std::uint64_t course, int length) {
  World world;
  run(world, before);
  for (int i = 0; i < length; ++i) {
    kSteps[course % kSteps.size()](world);
    course /= kSteps.size();
    world.come();
    if (!world.right()) return false;
  }
  return true;
}

void all_courses(int length) {
  std::uint64_t courses = 1;
  for (int i = 0; i < length; ++i) courses *= kSteps.size();
  for (const std::string_view before : kBefore)
    for (std::uint64_t course = 0; course < courses; ++course)
      if (!course_is_right(before, course, length)) {
        FAIL("course " + std::to_string(course) + " after '" + std::string(before) + "'");
        return;
      }
}

}  // namespace

TEST_CASE("channels: every short course matches as MPI says", "[channels]") { all_courses(4); }

TEST_CASE("channels: every course of 5 steps matches as MPI says", "[channels][exhaustive]") {
  all_courses(5);
}

TEST_CASE("channels: long courses match as MPI says", "[channels]") {
  std::uint64_t random = 88172645463325252U;
  for (int course = 0; course < 3000; ++course) {
    World world;
    for (int step = 0; step < 60; ++step) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      kSteps[random % kSteps.size()](world);
      world.come();
      INFO("course " + std::to_string(course) + ", step " + std::to_string(step));
      REQUIRE(world.right());
    }
  }
}
