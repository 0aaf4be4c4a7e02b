// Linger: how long the NI thread looks for more before it goes to sleep again. Whoever asks often
// asks again when he has the answer: a network round trip later, sooner than a sleeper is woken
// twice. But looking takes the processor from a host that shares it, so it is done only where it has
// paid lately. A pure state machine, as the watchdog.
//
//   Linger linger({shortest, longest});
//   linger.arrived(now);       // the thread has found something to do
//   ... look for linger.time() after the last arrival, then sleep
//
// An arrival counts for lingering if it comes within a linger and a wake-up after the one before,
// whether the thread was awake or asleep meanwhile; else against it. In groups of three or more,
// lingering wins; for single requests it ends after a few.
// Held by tests/unit/linger_test.cpp.
#pragma once

#include <algorithm>
#include <chrono>

namespace lfc {

class Linger {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment
  struct Limits {
    Time shortest;
    Time longest;
    Time wake_up;  // what it costs to be woken
  };

  explicit Linger(Limits limits) noexcept : limits_(limits) {}

  void arrived(Time now) noexcept {
    const bool close = now - last_ <= limits_.longest + limits_.wake_up;
    score_ = std::clamp(score_ + (close ? 1 : -1), -kMost, kMost);
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
