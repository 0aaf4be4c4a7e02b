// The clock that stands still while its process is absent.
#include <chrono>

#include "catch.hpp"
#include "link/present_time.hpp"

namespace lfc {

TEST_CASE("link: time in which a process looks at no clock does not pass", "[link]") {
  using namespace std::chrono_literals;
  const PresentTime::Time begin{1h};
  PresentTime present;
  REQUIRE(present.at(begin) == begin);
  PresentTime::Time clock = begin;
  for (int i = 0; i < 1000; ++i) present.at(clock += 1ms);
  CHECK(present.at(clock) == begin + 1s);
  CHECK(present.at(clock += PresentTime::kLongestStep) == begin + 1s + PresentTime::kLongestStep);
  CHECK(present.at(clock += 1h) == begin + 1s + 2 * PresentTime::kLongestStep);
  CHECK(present.at(clock += 1ms) == begin + 1001ms + 2 * PresentTime::kLongestStep);
}

}  // namespace lfc
