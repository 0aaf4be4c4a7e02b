// Linger: how long the NI thread polls for more before it sleeps again. A peer that sends requests often sends the next
// one after the reply: a network round trip later, which is sooner than two wake-ups take. But polling takes the core
// from a host that shares it, so the thread lingers only where that has paid lately. A pure state machine, like the
// watchdog.
//
//   Linger linger({shortest, longest, wake_up});
//   linger.arrived(now);       // the thread has found something to do
//   ... look for linger.time() after the last arrival, then sleep
//
// An arrival counts for lingering if it comes within a linger after the one before. While the thread does not linger,
// the limit is a linger and a wake-up, because the arrival had to wait for the wake-up. With groups of three or more
// the thread lingers; with single requests it stops lingering after a few.
// Held by tests/unit/engine/linger_test.cpp.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>

namespace lfc {

class Linger {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment
  struct Limits {                         // shortest <= longest
    Time shortest;                        // where lingering has not paid lately
    Time longest;
    Time wake_up;  // how much later a sleeping thread serves
  };

  explicit Linger(Limits limits) noexcept : limits_(limits) {
    assert(limits.shortest <= limits.longest);
  }

  void arrived(Time now) noexcept {
    const bool lingered = score_ >= 0;
    const Time close = limits_.longest + (lingered ? Time(0) : limits_.wake_up);
    const int score = score_ + (now - last_ <= close ? 1 : -1);
    // After a change the score is far from the next one, so the decision stays for a while.
    const bool changed = (score >= 0) != lingered;
    score_ = changed ? (lingered ? -kMost : kMost) : std::clamp(score, -kMost, kMost);
    last_ = now;
  }
  Time time() const noexcept { return score_ >= 0 ? limits_.longest : limits_.shortest; }

 private:
  static constexpr int kMost = 4;

  Limits limits_;
  Time last_ = Time::min() / 2;
  int score_ = 1;
};

}  // namespace lfc
