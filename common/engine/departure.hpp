// Departure: the report of a host that leaves MPI although its node has to forward frames that may come soon. The NI
// thread rests for milliseconds while the host polls, and would serve such frames only after the rest. A host that
// leaves during a long rest sets a timer of one delay, which ends the rest.
//
//   departure.leave();                                           // the host, after its last poll
//   step = departure.before_rest(dog, step, polls);              // the thread; then it rests
//   if (by_timer) departure.take_timer();
//   step = departure.after_rest(dog, by_timer, polls());
//   if (worked && departure.has_served()) ++served;              // after a serve
//
// Invariants (tests/unit/engine/departure_test.cpp):
//  - A host that leaves during a long rest and stays away is served a delay later, if its report has set the timer.
//  - After a report that found the host back, fewer reports set the timer, down to one in 64. After a report that found
//    work for the thread, each one may set it again.
//  - At that limit, a rest that follows such a report ends by time alone.
//  - A report that has not set the timer halves the time until the host is served: a long rest that begins while the
//    host is away lasts for a delay. This happens to one of two rests at most, unless the timer has ended in between.
//  - No report is lost except those that the limit passes over. leave() stores its report, fences and loads `relies_`
//    and `pending_`. The thread stores these words, fences and loads the report (tests/unit/sync/handshake_test.cpp).
// Threads: leave() by any of the host, the rest by the NI's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "engine/activity.hpp"
#include "engine/watchdog.hpp"
#include "sync/fence.hpp"
#include "sync/send_lock.hpp"

namespace lfc {

class Departure {
 public:
  // `lock`: its visits() show polls of the host; `activity`: whether a thread of the host still polls. If
  // there is no descriptor for the timer, reports shorten only the rests that begin after them.
  Departure(const SendLock& lock, const Activity& activity);
  ~Departure();
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

  // --- The host ---

  // Reports that the host leaves. True: this has set the timer. Without a system call unless a long rest has begun.
  bool leave() noexcept {
    if (activity_.host_is_polling()) return false;  // another thread of the host polls
    const std::uint64_t visits = lock_.visits();
    left_at_.store(visits, std::memory_order_release);
    full_fence();
    // Pairs with the release in before_rest(): the delay is visible.
    if (!relies_.load(std::memory_order_acquire) || pending_.load(std::memory_order_relaxed))
      return false;
    return set_timer(visits);
  }

  // --- The NI thread ---

  int timer() const noexcept { return timer_; }
  // Before the first rest.
  void set_delay(Watchdog::Time delay) noexcept { delay_ = delay; }
  // Returns the next step if `step` is a rest: a shorter rest if the host has just left. `polls` returns their number.
  template <class Polls>
  Watchdog::Step before_rest(Watchdog& dog, Watchdog::Step step, Polls polls) noexcept {
    if (reported_ && !dog.is_away()) note_useless();
    const bool rare = useless_ && skip_limit_.load(std::memory_order_relaxed) == kMostSkipped;
    const bool relies = step.time > 2 * delay_ && step.time != Watchdog::kForever && !rare;
    relies_.store(relies, std::memory_order_release);
    if (relies) full_fence();
    shortened_ = relies && !shortened_ && has_left();
    return shortened_ ? dog.left(polls()) : step;
  }
  // Makes the timer unreadable. A report from now on can set it again.
  void take_timer() noexcept;
  // Returns the step after a rest that ended by the timer or otherwise.
  Watchdog::Step after_rest(Watchdog& dog, bool by_timer, std::uint64_t polls) noexcept {
    const bool is_due =
        by_timer &&
        armed_at_.load(std::memory_order_relaxed) == left_at_.load(std::memory_order_acquire) &&
        has_left();
    if (by_timer && !is_due) {
      // A report that found the timer pending has not set it. The next rest may therefore be shortened.
      shortened_ = false;
      useless_ = true;
      note_useless();
      return dog.back(polls);
    }
    useless_ = false;
    const Watchdog::Step step = is_due ? dog.away(polls) : dog.rested(polls);
    if (step.action == Watchdog::Action::rest) return step;
    if (has_left()) reported_ = true;
    timed_ = is_due;
    shortened_ = false;
    relies_.store(false, std::memory_order_relaxed);
    return step;
  }
  // Notes that the thread had something to do. True: for the first time since the timer of a report has ended its rest.
  bool has_served() noexcept {
    if (!std::exchange(reported_, false)) return false;
    skip_limit_.store(0, std::memory_order_relaxed);
    return timed_;
  }

 private:
  static constexpr unsigned kMostSkipped = 63;

  [[gnu::noinline]] bool set_timer(std::uint64_t visits) noexcept;
  // The host has not polled since its last report.
  bool has_left() const noexcept {
    // Acquire: visits() is at least as new as the report.
    return left_at_.load(std::memory_order_acquire) == lock_.visits() &&
           !activity_.host_is_polling();
  }
  void note_useless() noexcept {
    reported_ = false;
    const unsigned limit = skip_limit_.load(std::memory_order_relaxed);
    skip_limit_.store(std::min(2 * limit + 1, kMostSkipped), std::memory_order_relaxed);
  }

  const SendLock& lock_;
  const Activity& activity_;
  const int timer_;
  Watchdog::Time delay_{};
  bool shortened_ = false;  // the last rest
  bool useless_ = false;    // a report has ended the last rest and found the host back
  bool reported_ = false;   // the thread serves after a report, and has found nothing to do yet
  bool timed_ = false;      // the timer ended the rest before that
  // The words of both sides, apart from the lines of the lock and of Activity.
  alignas(64) std::atomic<std::uint64_t> left_at_{~std::uint64_t{0}};  // visits at the last report
  std::atomic<std::uint64_t> armed_at_{0};  // visits at the report that has set the timer
  std::atomic<bool> relies_{false};         // the thread rests for long: reports have to end it
  std::atomic<bool> pending_{false};        // the timer is set and has not been taken
  std::atomic<unsigned> skip_limit_{0};     // reports that set no timer between two that do
  std::atomic<unsigned> skipped_{0};        // with several threads of the host, one may be lost
};

}  // namespace lfc
