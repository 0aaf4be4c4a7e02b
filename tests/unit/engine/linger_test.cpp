// Linger: how long the thread polls before it sleeps, with a simulated clock.
#include "engine/linger.hpp"

#include <chrono>

#include "catch.hpp"
#include "engine/ni_thread.hpp"

namespace lfc::linger_test {
namespace {

using namespace std::chrono_literals;
using Time = Linger::Time;

constexpr Linger::Limits kLimits{4us, 20us, 80us};

// A pause, then this many requests at this distance. Returns how many arrived after the thread had gone to sleep.
int group(Linger& linger, Time& now, int requests, Time apart, Time pause) {
  int asleep = 0;
  for (int i = 0; i < requests; ++i) {
    const Time after = i == 0 ? pause : apart;
    if (after > linger.time()) ++asleep;
    now += after;
    linger.arrived(now);
  }
  return asleep;
}

TEST_CASE("linger: requests that follow each other find the thread awake") {
  Linger linger(kLimits);
  Time now{0};
  for (int i = 0; i < 100; ++i) CHECK(group(linger, now, 3, 12us, 300us) == 1);
}

TEST_CASE("linger: single requests are not looked for") {
  Linger linger(kLimits);
  Time now{0};
  for (int i = 0; i < 10; ++i) group(linger, now, 1, 0us, 300us);
  for (int i = 0; i < 100; ++i) {
    CHECK(linger.time() == kLimits.shortest);
    group(linger, now, 1, 0us, 300us);
  }
}

TEST_CASE("linger: a sleeping thread detects that requests have begun to follow each other") {
  Linger linger(kLimits);
  Time now{0};
  for (int i = 0; i < 100; ++i) group(linger, now, 1, 0us, 300us);
  // Each request wakes the thread, so the wake-up adds to its time.
  for (int i = 0; i < 10 && linger.time() != kLimits.longest; ++i)
    group(linger, now, 3, 60us, 300us);
  CHECK(linger.time() == kLimits.longest);
  for (int i = 0; i < 10; ++i) CHECK(group(linger, now, 3, 12us, 300us) == 1);
}

TEST_CASE("linger: the thread rarely lingers for frames that arrive just too late") {
  Linger linger(kLimits);
  Time now{0};
  int lingered = 0;
  for (int i = 0; i < 1000; ++i) {
    lingered += linger.time() == kLimits.longest ? 1 : 0;
    group(linger, now, 1, 0us, 40us);
  }
  CHECK(lingered <= 600);
}

TEST_CASE("linger: the thread of an NI polls for less time once lingering does not pay") {
  Linger linger(NiThread::kLinger);
  const Time before = linger.time();
  Time now{0};
  for (int i = 0; i < 10; ++i) group(linger, now, 1, 0us, 300us);
  CHECK(linger.time() < before);
}

}  // namespace

}  // namespace lfc::linger_test
