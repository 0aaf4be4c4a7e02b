// Watchdog: when the NI thread rests, sleeps and serves, with a simulated clock.
#include "engine/watchdog.hpp"

#include <chrono>
#include <random>

#include "catch.hpp"

namespace lfc::watchdog_test {
namespace {

using namespace std::chrono_literals;
using Action = Watchdog::Action;
using Outcome = Watchdog::Outcome;
using Time = Watchdog::Time;

constexpr Watchdog::Limits kLimits{70us, 1ms};

TEST_CASE("watchdog: a host that polls is left alone, and looked at ever more rarely") {
  Watchdog dog(kLimits);
  std::uint64_t polls = 1;
  Watchdog::Step step = dog.begin(polls);
  Time time{0};
  int looks = 0;
  while (time < 1s) {
    REQUIRE(step.action == Action::rest);
    REQUIRE(step.time <= kLimits.longest_rest);
    time += step.time;
    ++looks;
    step = dog.rested(++polls);
  }
  CHECK(looks < 1010);  // one per longest rest
}

TEST_CASE(
    "watchdog: an absent host is noticed within a rest, and the thread sleeps without a timer") {
  Watchdog dog(kLimits);
  REQUIRE(dog.begin(5).action == Action::rest);
  REQUIRE(dog.rested(5).action == Action::serve);
  const Watchdog::Step step = dog.served(70us, 5, Outcome::quiet);
  CHECK(step.action == Action::sleep);
  CHECK(step.time == Watchdog::kForever);
}

TEST_CASE("watchdog: links that settle are looked at again before it sleeps without a timer") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  const Watchdog::Step step = dog.served(70us, 5, Outcome::settling);
  REQUIRE(step.action == Action::sleep);
  CHECK(step.time == SleepWord::kSettling);
  REQUIRE(dog.woken(70us + SleepWord::kSettling, 5).action == Action::serve);
  CHECK(dog.served(80us + SleepWord::kSettling, 5, Outcome::quiet).time == Watchdog::kForever);
}

TEST_CASE("watchdog: an arrival while the host is away is served at once, if a delay has passed") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  (void)dog.served(1000us, 5, Outcome::quiet);
  CHECK(dog.woken(2000us, 5).action == Action::serve);
  (void)dog.served(2000us, 5, Outcome::quiet);
  const Watchdog::Step early = dog.woken(2010us, 5);
  REQUIRE(early.action == Action::rest);
  CHECK(early.time == 60us);
  CHECK(dog.rested(5).action == Action::serve);
}

TEST_CASE(
    "watchdog: an arrival after the host has polled waits for a delay, and the host decides") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  (void)dog.served(1000us, 5, Outcome::quiet);
  Watchdog::Step step = dog.woken(2000us, 6);
  REQUIRE(step.action == Action::rest);
  CHECK(step.time == kLimits.delay);
  CHECK(dog.rested(7).action == Action::rest);  // the host polls, so the thread has no work
  CHECK(dog.rested(7).action == Action::serve);
}

TEST_CASE("watchdog: a turn that is cut short goes on at once") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  CHECK(dog.served(0us, 6, Outcome::more).action == Action::serve);
}

// A host in system calls polls less often than once in the first rest.
TEST_CASE("watchdog: a host that is slow between two polls does not shorten the rests") {
  Watchdog dog(kLimits);
  std::uint64_t polls = 1;
  Watchdog::Step step = dog.begin(polls);
  Time time{0};
  std::mt19937 random(1);
  int looks = 0;
  while (time < 1s) {
    REQUIRE(step.action == Action::rest);
    time += step.time;
    ++looks;
    if (random() % 3 != 0) ++polls;
    step = dog.rested(polls);
    if (step.action == Action::rest) continue;
    ++looks;
    if (random() % 2 == 0) {  // found inside, or back within three delays
      step = dog.served(time, polls, Outcome::host_inside);
    } else {
      step = dog.served(time, polls, Outcome::quiet);
      REQUIRE(step.action == Action::sleep);
      time += Time(random() % (3 * kLimits.delay).count());
      step = dog.woken(time, ++polls);
    }
  }
  CHECK(looks < 1500);  // at most two per longest rest, and usually one
}

TEST_CASE("watchdog: a host that was away for long and had others served is watched anew") {
  Watchdog dog(kLimits);
  std::uint64_t polls = 1;
  (void)dog.begin(polls);
  for (int i = 0; i < 10; ++i) (void)dog.rested(++polls);  // long rests
  REQUIRE(dog.rested(polls).action == Action::serve);
  Time time{0};
  Watchdog::Step step = dog.served(time, polls, Outcome::quiet);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(step.action == Action::sleep);
    time += 100us;
    REQUIRE(dog.woken(time, polls).action == Action::serve);
    step = dog.served(time, polls, Outcome::quiet, true);
  }
  step = dog.woken(time + 10us, ++polls);
  REQUIRE(step.action == Action::rest);
  CHECK(step.time == kLimits.delay);
}

TEST_CASE("watchdog: a longer longest rest holds from the next one on, a shorter one as well") {
  Watchdog dog(kLimits);
  std::uint64_t polls = 1;
  Watchdog::Step step = dog.begin(polls);
  const auto settle = [&] {
    for (int i = 0; i < 20; ++i) step = dog.rested(++polls);
    return step.time;
  };
  CHECK(settle() == kLimits.longest_rest);
  dog.set_longest_rest(4 * kLimits.longest_rest);
  CHECK(settle() == 4 * kLimits.longest_rest);
  dog.set_longest_rest(kLimits.longest_rest);
  CHECK(settle() == kLimits.longest_rest);
  dog.set_longest_rest(Time{0});
  CHECK(settle() == kLimits.delay);
}

TEST_CASE("watchdog: an unfinished turn that no event wakes is tried again at growing intervals") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  Time last{0};
  for (int i = 0; i < 10; ++i) {
    const Watchdog::Step step = dog.served(i * 10ms, 5, Outcome::unfinished);
    REQUIRE(step.action == Action::sleep);
    REQUIRE(step.time >= last);
    REQUIRE(step.time <= kLimits.longest_rest);
    last = step.time;
    REQUIRE(dog.woken(i * 10ms + step.time, 5).action == Action::serve);
  }
  CHECK(last == kLimits.longest_rest);
  // After work, more may follow.
  CHECK(dog.served(200ms, 5, Outcome::unfinished, true).time == kLimits.delay);
}

TEST_CASE("watchdog: 10^4 packets pending wake it at most once per delay") {
  Watchdog dog(kLimits);
  (void)dog.begin(5);
  (void)dog.rested(5);
  Time time{0};
  Watchdog::Step step = dog.served(time, 5, Outcome::quiet);
  Time last_serve = time;
  std::mt19937 random(1);
  int serves = 0;
  // A packet every 0 to 20 us. Each finds the thread asleep, or the thread finds it.
  for (int packet = 0; packet < 10'000; ++packet) {
    time += Time(random() % 20'000);
    if (step.action == Action::sleep) step = dog.woken(time, 5);
    if (step.action == Action::rest) {
      time += step.time;
      step = dog.rested(5);
    }
    REQUIRE(step.action == Action::serve);
    REQUIRE(time - last_serve >= kLimits.delay);
    last_serve = time;
    ++serves;
    step = dog.served(time, 5, Outcome::quiet);
  }
  CHECK(serves <= time / kLimits.delay + 1);
}

TEST_CASE("watchdog: a host that reports its departure has a delay, and no longer rest") {
  Watchdog dog({70us, 1ms, 20ms});
  (void)dog.begin(5);
  Watchdog::Step step = dog.left(6);
  REQUIRE(step.action == Action::rest);
  CHECK(step.time == 70us);
  CHECK(dog.rested(6).action == Action::serve);
  CHECK_FALSE(dog.is_away());
  (void)dog.served(1ms, 6, Outcome::quiet);
  CHECK(dog.is_away());
  CHECK(dog.away(6).action == Action::serve);
}

TEST_CASE("watchdog: a report does not shorten the rests of a host that is back after it") {
  Watchdog dog(kLimits);
  std::uint64_t polls = 1;
  Watchdog::Step step = dog.begin(polls);
  for (int i = 0; i < 10; ++i) step = dog.rested(++polls);
  REQUIRE(step.time == kLimits.longest_rest);
  (void)dog.left(++polls);
  CHECK(dog.rested(++polls).time == kLimits.longest_rest);
  CHECK(dog.back(++polls).time == kLimits.longest_rest);
  CHECK(dog.rested(polls).action == Action::serve);
}

TEST_CASE(
    "watchdog: with a long rest a host is away only after the rest, and is then served as usual") {
  Watchdog dog({70us, 1ms, 20ms});
  Watchdog::Step step = dog.begin(5);
  CHECK(step.time == 20ms);
  step = dog.rested(6);  // the host had only waited for a processor
  REQUIRE(step.action == Action::rest);
  CHECK(step.time == 20ms);
  REQUIRE(dog.rested(6).action == Action::serve);
  step = dog.served(41ms, 6, Outcome::quiet);
  CHECK(step.action == Action::sleep);
  CHECK(dog.woken(42ms, 6).action == Action::serve);
  dog.served(42ms, 6, Outcome::quiet);
  step = dog.woken(42ms + 10us, 6);  // after the delay, not later
  CHECK(step.action == Action::rest);
  CHECK(step.time == 60us);
}

}  // namespace

}  // namespace lfc::watchdog_test
