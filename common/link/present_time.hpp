// PresentTime: a clock that stands still while this process does not look at it. A process that computes, or is
// stopped, reads no reply meanwhile. So its absence must not count as the silence of a peer.
//
//   const PresentTime::Time now = present.now();             // in each poll that judges a deadline
//   if (now >= asked_at + patience) give_up();               // asked_at is of the same clock
//
// A step between two looks counts up to kLongestStep. So a process that returns polls for the rest of the time, and
// reads the frames that have arrived, before it judges. The links `verbs` and `ofi`, and the watch of rails, take all
// their times from one. Held by tests/unit/link/present_time_test.cpp and bond/bond_test.cpp.
// Threads: as Link.
#pragma once

#include <algorithm>
#include <chrono>

namespace lfc {

class PresentTime {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  // Longer than a thread that drives an engine sleeps while a link has deadlines.
  static constexpr std::chrono::milliseconds kLongestStep{100};

  Time now() noexcept { return at(Clock::now()); }
  // Returns the present time at this time of the steady clock, which is that of the last look or later.
  Time at(Time clock) noexcept {
    if (last_ == Time{}) present_ = last_ = clock;
    present_ += std::min<Clock::duration>(clock - last_, kLongestStep);
    last_ = clock;
    return present_;
  }

 private:
  Time last_{};
  Time present_{};
};

}  // namespace lfc
