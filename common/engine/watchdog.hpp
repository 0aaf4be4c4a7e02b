// Watchdog: decides when the NI thread sleeps, looks after the host, or drives the control program
// in the host's stead. A pure state machine: its inputs are time and observations, its output the next step.
//
// LFC's polling watchdog (thesis 3.7 and 4.4): an arrival interrupts the host only after a delay, and only if the host
// has not polled meanwhile. There is at most one interrupt per delay. Here the interrupt is
// the NI thread, and it also detects *in advance* that the host is away, so an arrival need not wait for a delay that
// has long passed.
//
//   Watchdog dog({delay, longest_rest});
//   Watchdog::Step step = dog.begin(polls);
//   for (;;) switch (step.action) {
//     case rest:  wait(step.time);            step = dog.rested(polls); break;
//     case sleep: wait(step.time, arrivals);  step = dog.woken(now, polls); break;
//     case serve: outcome = run_control_program();
//                 step = dog.served(now, polls, outcome, worked); break;
//   }
//
//            polls seen: twice as long                        arrival, host away
//              +-------+                                   +----------------------+
//              v       |      no poll during the rest      v                      |
//   begin --> rest ----+--------------------------------> serve -- nothing left --> sleep
//              ^                                             | host inside          |
//              +---------------------------------------------+                      |
//              +------------------- arrival, host has polled -----------------------+
//
// Invariants (tests/unit/engine/watchdog_test.cpp):
//  - A host that polls during every rest is never interfered with, and the rests grow to the
//    longest: a host that stays in MPI costs one wake-up by a timer per longest rest.
//  - A host that is slow between two polls does not shorten the rests either: it is found inside, or is back
//    at once.
//  - Two serves that begin with an arrival are at least a delay apart.
//  - A host that reports its departure is served a delay later if it does not poll meanwhile, and the rests of a host
//    that was back by then stay as long (engine/departure.hpp).
//  - No polls and no arrivals: it sleeps without a timer, except for the first SleepWord::kSettling.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "look/states.hpp"
#include "sync/sleep_word.hpp"

namespace lfc {

class Watchdog {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment
  static constexpr Time kForever = Time::max();

  struct Limits {
    Time delay;         // how long an arrival may wait for the host: about two wake-ups
    Time longest_rest;  // how long the host's absence may stay undetected
    // The host is away if it has not polled for this time; at least the delay. Longer where the host waits
    // for a core, because it may be inside MPI all the time.
    Time away_after{};
  };
  using Action = look::ThreadAction;
  struct Step {
    Action action;
    Time time{};
  };
  // The result of an attempt to serve.
  enum class Outcome : std::uint8_t {
    host_inside,  // the host drives: nothing was done
    more,         // cut short, there is more to do
    quiet,        // nothing left; every new event wakes
    settling,     // the same, after another look, SleepWord::kSettling later
    unfinished,   // nothing left, but something must be retried without a wake-up
  };

  explicit Watchdog(Limits limits) noexcept
      : delay_(limits.delay),
        away_after_(std::max(limits.delay, limits.away_after)),
        longest_(std::max(away_after_, limits.longest_rest)),
        rest_(away_after_) {}

  // From the next rest on.
  void set_longest_rest(Time time) noexcept { longest_ = std::max(away_after_, time); }

  // `polls`: a number that changes with every poll of the host.
  Step begin(std::uint64_t polls) noexcept { return host_seen(polls, away_after_); }

  Step rested(std::uint64_t polls) noexcept {
    if (polls != seen_) return still_there(polls);
    return {Action::serve, {}};
  }
  Step woken(Time now, std::uint64_t polls) noexcept {
    if (polls != seen_)
      return absent_ && now - left_ < kBriefly * delay_ ? still_there(polls)
                                                        : host_seen(polls, away_after_);
    const Time since = now - last_served_;
    if (served_ && since < delay_) return {Action::rest, delay_ - since};
    return {Action::serve, {}};
  }
  // The host has reported that it leaves MPI. It counts as away unless it polls within a delay. The rests after this
  // one are as long as they would have been.
  Step left(std::uint64_t polls) noexcept {
    seen_ = polls;
    absent_ = false;
    return {Action::rest, delay_};
  }
  // A delay after its report the host has not polled.
  Step away(std::uint64_t polls) noexcept {
    seen_ = polls;
    return {Action::serve, {}};
  }
  // The host has polled since its report: the rest begins anew.
  Step back(std::uint64_t polls) noexcept { return host_seen(polls, rest_); }
  // The last serve found the host outside MPI, and no poll has been seen since.
  bool is_away() const noexcept { return absent_; }
  // `worked`: there was something to do.
  Step served(Time now, std::uint64_t polls, Outcome outcome, bool worked = false) noexcept {
    last_served_ = now;
    served_ = true;
    if (worked) retry_ = delay_;  // more may follow
    if (outcome == Outcome::host_inside) return still_there(polls);
    if (!std::exchange(absent_, true)) left_ = now;
    if (outcome == Outcome::more) return {Action::serve, {}};
    if (outcome == Outcome::quiet) {
      retry_ = delay_;
      return {Action::sleep, kForever};
    }
    if (outcome == Outcome::settling) return {Action::sleep, SleepWord::kSettling};
    const Time now_then = retry_;  // unfinished
    retry_ = std::min(2 * retry_, longest_);
    return {Action::sleep, now_then};
  }

 private:
  // A host that was away for less than this many delays had not left. Between two polls it was in a system call, or had
  // lost its processor.
  static constexpr int kBriefly = 4;

  // The host stays in MPI: the next rest is longer.
  Step still_there(std::uint64_t polls) noexcept {
    return host_seen(polls, std::min(2 * rest_, longest_));
  }
  Step host_seen(std::uint64_t polls, Time rest) noexcept {
    seen_ = polls;
    absent_ = false;
    rest_ = rest;
    return {Action::rest, rest};
  }

  const Time delay_;
  const Time away_after_;
  Time longest_;
  Time rest_;
  Time retry_ = delay_;
  Time last_served_{};
  bool served_ = false;
  bool absent_ = false;  // since left_, as far as is known
  Time left_{};
  std::uint64_t seen_ = 0;
};

}  // namespace lfc
