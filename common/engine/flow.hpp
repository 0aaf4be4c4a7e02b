// Flow: flow control between this NI and one peer: the rule of credits (flow/credits.hpp), applied to frames. The
// departure of each frame, its arrival and the return of its receive buffer pass through this class, on every path.
//
//   Flow flow(theirs, ours);                                          // initial windows
//   if (!flow.may_depart(type)) wait();                               // for a credit
//   const std::uint32_t returned = flow.returnable(type);            // to go with the frame
//   if (send(type, returned)) flow.departed(type, returned);
//
//   if (!flow.arrived(meta.type) || !flow.credited(meta.credits)) ... // the peer breaks the protocol
//   if (flow.release(budget, counters)) send_credit_frame();          // its receive buffer is free
//
// Nothing changes before a frame has left, so one that could not leave needs no undoing.
// Held by tests/unit/flow/credits_test.cpp, which drives pairs of these by random schedules, and tests/sim.
// Threads: none of its own; the NI serialises.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/limits.hpp"
#include "flow/credits.hpp"
#include "stats/counters.hpp"
#include "wire/frame.hpp"

namespace lfc {

class Flow {
 public:
  // `theirs`: frames that the peer promises at first to take; `ours`: frames that we promise to take.
  Flow(std::uint32_t theirs, std::uint32_t ours) noexcept : credits_(theirs), window_(ours) {}

  // --- Departure ---

  bool may_depart(FrameType type) const noexcept {
    return !needs_credit(type) || credits_.available() != 0;
  }
  // Returns how many credits a frame of this type would return to the peer. `frees`: it is the reply to a frame whose
  // receive buffer is free once the reply has left.
  std::uint32_t returnable(FrameType type, bool frees = false) const noexcept {
    const std::uint32_t owed = window_.owed() + (frees ? 1 : 0);
    return std::min(owed, type == FrameType::credit ? kMaxCredits : limits::kPiggyback);
  }
  void departed(FrameType type, std::uint32_t returned) noexcept {
    if (needs_credit(type)) credits_.take();
    window_.collect(returned);
  }

  // --- Arrival ---

  // False: the peer had no credit for it.
  bool arrived(FrameType type) noexcept { return !needs_credit(type) || window_.accept(); }
  // False: the peer returns more credits than any window has.
  bool credited(std::uint32_t count) noexcept { return credits_.add(count); }

  // --- Return ---

  // A receive buffer is free again. A window that has been used up grows, as far as the budget allows. True: half a
  // window is owed, so a credit frame must leave if no other frame does.
  bool release(WindowBudget& budget, Counters& counters) noexcept {
    const bool due = window_.release();
    return window_.wants_growth() ? grow(budget, counters) : due;
  }
  bool due() const noexcept { return window_.due(); }

  // The peer is lost; `admitted`: its window was charged to the budget.
  void end(WindowBudget& budget, bool admitted) noexcept {
    if (admitted) budget.dismiss(window_.window());
    window_.stop_growing();
  }

  const SendCredits& credits() const noexcept { return credits_; }
  const ReceiveWindow& window() const noexcept { return window_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  [[gnu::noinline]] bool grow(WindowBudget& budget, Counters& counters) noexcept {
    const std::uint32_t extra = budget.growth(window_.window());
    budget.charge(extra);
    window_.grow(extra);
    if (extra != 0) counters.add(Counter::window_growths);
    return window_.due();
  }

  SendCredits credits_;
  ReceiveWindow window_;
};

}  // namespace lfc
