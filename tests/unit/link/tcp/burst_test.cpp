#include "link/tcp/burst.hpp"

#include "catch.hpp"

using lfc::tcp::Burst;
using namespace std::chrono_literals;

TEST_CASE("burst: the first frame since a poll is known by the poll's number alone") {
  Burst burst;
  CHECK(burst.is_first(1));
  CHECK_FALSE(burst.is_first(1));
  CHECK(burst.is_first(2));
  CHECK(burst.is_first(0));
}

TEST_CASE("burst: the second frame may wait, later ones if they follow faster than a write takes") {
  Burst burst;
  REQUIRE(burst.is_first(1));
  const auto follow = [&burst](std::chrono::nanoseconds now) {
    return !burst.is_first(1) && burst.follow(now);
  };
  CHECK(follow(100us));
  CHECK(follow(101us));
  burst.wrote(101us, 105us);
  CHECK(follow(108us));        // 3 us after the write, which took 4 us
  CHECK_FALSE(follow(113us));  // 5 us after the frame before
  CHECK(follow(116us));
}

TEST_CASE("burst: the measured time of a write counts within limits") {
  Burst burst;
  for (int i = 0; i < 3; ++i) CHECK(burst.is_first(1) == (i == 0));
  burst.wrote(1us, 1us);
  CHECK(burst.follow(1us + Burst::kShortest));
  burst.wrote(2us, 2s);
  CHECK(burst.follow(2s + Burst::kLongest));
  CHECK_FALSE(burst.follow(2s + 2 * Burst::kLongest + 1ns));
}

TEST_CASE("burst: many frames since a poll are a stream") {
  Burst burst;
  for (std::uint32_t poll = 1; poll < 50; ++poll) {
    REQUIRE(burst.is_first(poll));
    CHECK_FALSE(burst.is_first(poll));
    CHECK_FALSE(burst.is_stream());
  }
  for (std::int32_t i = 2; i < Burst::kStream; ++i) CHECK_FALSE(burst.is_first(49));
  CHECK(burst.is_stream());
}

TEST_CASE("burst: in a pause all are first ones, and a poll ends it") {
  Burst burst;
  REQUIRE(burst.is_first(1));
  REQUIRE_FALSE(burst.is_first(1));
  burst.pause();
  for (std::int32_t i = 0; i < Burst::kPause; ++i) CHECK(burst.is_first(1));
  CHECK_FALSE(burst.is_first(1));
  burst.pause();
  CHECK(burst.is_first(2));
  CHECK_FALSE(burst.is_first(2));
}
