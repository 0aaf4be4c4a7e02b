// Linger: how long the NI thread looks for more before it goes to sleep again. Whoever asks often
// asks again when he has the answer: a network round trip later, sooner than a sleeper is woken
// twice. But looking takes the processor from a host that shares it, so it is done only where it has
// paid lately. A pure state machine, as the watchdog.
//
//   Linger linger({shortest, longest});
//   linger.arrived(now);       // the thread has found something to do
//   ... look for linger.time() after the last arrival, then sleep
//
// An arrival counts for lingering if it comes within a linger after the one before; while the thread
// does not linger, within a linger and a wake-up, which it had to wait for. In groups of three or
// more, lingering wins; for single requests it ends after a few.
// Held by tests/unit/engine/linger_test.cpp.
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
    Time wake_up;  // how much later a sleeper serves
  };

  explicit Linger(Limits limits) noexcept : limits_(limits) {}

  void arrived(Time now) noexcept {
    const bool lingered = score_ >= 0;
    const Time close = limits_.longest + (lingered ? Time(0) : limits_.wake_up);
    const int score = score_ + (now - last_ <= close ? 1 : -1);
    // Once it has changed its mind it sticks to it for a while.
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
