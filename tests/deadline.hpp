// Deadline: a limit for a wait by polling, which counts only the time in which the test itself ran.
//
//   for (Deadline deadline(20s); !done() && !deadline.is_over();) poll();
//   CHECK(done());
//
// Each call of is_over() counts the time since the call before, and at most 1 ms of it: 20 s are at least 20,000
// calls. So a machine that stops for a minute fails no test. Nor does a process that waits long for each time slice.
#pragma once

#include <algorithm>
#include <chrono>

namespace lfc {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::duration limit) : left_(limit) {}

  bool is_over() {
    const auto now = Clock::now();
    left_ -= std::min<Clock::duration>(now - last_, std::chrono::milliseconds(1));
    last_ = now;
    return left_ <= Clock::duration::zero();
  }

 private:
  Clock::duration left_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace lfc
