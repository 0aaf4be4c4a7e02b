// Hosts that report that they leave: the NI's thread serves them although its rest is not over.
#include <chrono>

#include "catch.hpp"
#include "engine/host_port.hpp"
#include "engine/ni_thread.hpp"
#include "engine/open.hpp"
#include "unit/engine/ni_thread/world.hpp"

namespace lfc::thread_world {

// Rests grow to a second while the host polls.
NiOptions long_rests() {
  NiOptions options;
  options.intr_delay = 50;
  options.watch_interval = 1'000'000;
  return options;
}

// Polls until the thread is at the beginning of a rest of half a second or more. False: it was not within a minute. A
// thread that has served while the machine suspended this process sleeps, and is woken.
bool begin_long_rest(Station& station) {
  const HostPort::Attendance attendance(station.ni->host());
  auto begun = steady_clock::now();
  auto looked = begun;
  std::uint64_t looks = station.count(Counter::thread_looks);
  for (Deadline deadline(60s); !deadline.is_over();) {
    station.ni->progress();
    const auto now = steady_clock::now();
    if (looks != station.count(Counter::thread_looks)) {
      looks = station.count(Counter::thread_looks);
      looked = now;
    } else if (now - looked > 2s) {
      begun = looked = now;
      station.ni->turn().activity().thread()->wake();
    }
    // Each rest is twice as long as the one before.
    if (looked - begun > 1s && now - looked > 5ms) return true;
  }
  return false;
}

TEST_CASE("ni thread: a host that reports that it leaves is served within its rest") {
  Station target(1, "shm", "floating", long_rests());
  Station origin(0, "shm", "single");
  const PeerId peer = origin.meet(target);
  REQUIRE(add_one(origin, peer, target));
  bool by_timer = false;
  // If the machine suspends this process for a second, the rest may end by itself.
  for (int tries = 0; tries < 5 && !by_timer; ++tries) {
    REQUIRE(begin_long_rest(target));
    const std::uint64_t timers = target.count(Counter::leave_timers);
    const std::uint64_t served = target.count(Counter::leaves_served);
    const std::uint64_t turns = target.count(Counter::thread_turns);
    target.ni->host().leaving();
    REQUIRE(add_one(origin, peer, target));
    // The reply leaves before the thread counts the turn.
    while (target.count(Counter::thread_turns) == turns) std::this_thread::yield();
    by_timer = target.count(Counter::leave_timers) == timers + 1 &&
               target.count(Counter::leaves_served) == served + 1;
  }
  CHECK(by_timer);
}

TEST_CASE("ni thread: a host that leaves again and again for moments sets few timers") {
  Station station(1, "shm", "floating", long_rests());
  REQUIRE(begin_long_rest(station));
  constexpr std::uint64_t kTimes = 10'000;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    station.ni->progress();
    station.ni->host().leaving();
  }
  CHECK(station.count(Counter::leave_timers) >= 1);
  CHECK(station.count(Counter::leave_timers) <= kTimes / 64 + 16);
}

TEST_CASE("ni thread: a host of which another thread polls sets no timer") {
  Station station(1, "shm", "floating", long_rests());
  REQUIRE(begin_long_rest(station));
  const HostPort::Attendance attendance(station.ni->host());
  for (int i = 0; i < 1000; ++i) station.ni->host().leaving();
  CHECK(station.count(Counter::leave_timers) == 0);
}

TEST_CASE("ni thread: without a thread that rests, a report does nothing") {
  for (const char* const policy : {"single", "fixed"}) {
    INFO(policy);
    Station station(1, "shm", policy);
    for (int i = 0; i < 1000; ++i) station.ni->host().leaving();
    CHECK(station.count(Counter::leave_timers) == 0);
  }
}

}  // namespace lfc::thread_world
