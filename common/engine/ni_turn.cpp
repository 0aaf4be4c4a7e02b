// The NI's part for its thread: driving the control program in the host's stead.
#include <utility>

#include "engine/ni.hpp"
#include "engine/ni_thread.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;

// How long a turn may last before the thread looks up: it may have been asked to end.
constexpr std::chrono::milliseconds kLongestTurn{1};

}  // namespace

void Ni::mask() noexcept {
  masks_.fetch_add(1, std::memory_order_seq_cst);
  const SendLock::Guard guard(lock_);  // a turn that has begun ends first
}

// Sequentially consistent, as in take_turn(): it sees that it is awaited, or the turn sees the mask
// gone.
void Ni::unmask() noexcept {
  const bool last = masks_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (last && unmask_awaited_.exchange(false, std::memory_order_seq_cst)) thread_->wake();
}

Watchdog::Outcome Ni::take_turn(Linger& linger, int& events) noexcept {
  events = 0;
  if (!lock_.try_claim()) return Watchdog::Outcome::host_inside;
  if (masks_.load(std::memory_order_seq_cst) != 0) {
    lock_.release_claim();
    unmask_awaited_.store(true, std::memory_order_seq_cst);
    return masks_.load(std::memory_order_seq_cst) != 0 ? Watchdog::Outcome::masked
                                                       : Watchdog::Outcome::host_inside;
  }
  begin_turn();
  const std::uint64_t polls_before = polls();
  const auto host_is_back = [&] { return polls() != polls_before || lock_.is_wanted(); };
  Link::Armed armed = Link::Armed::busy;
  const Clock::time_point begun = Clock::now();
  // That something came. What a link that wakes nobody has to do may take it several looks.
  Clock::time_point last = all_wake_ ? Clock::time_point{} : begun;
  bool busy = false;
  for (Clock::time_point now = begun; now - begun < kLongestTurn && !host_is_back();
       now = Clock::now()) {
    const int found = run_pass(true);
    events += found;
    if (found != 0) {
      last = now;
      if (!std::exchange(busy, true)) linger.arrived(now.time_since_epoch());
      continue;
    }
    busy = false;
    if (now - last >= linger.time() && (armed = arm_links()) != Link::Armed::busy) break;
  }
  end_turn();
  if (config_.upcalls && masks_.load(std::memory_order_seq_cst) == 0) events += serve_host();
  if (polls() != polls_before) return Watchdog::Outcome::host_inside;
  switch (armed) {
    case Link::Armed::busy: return Watchdog::Outcome::more;
    case Link::Armed::partly: return Watchdog::Outcome::unfinished;
    case Link::Armed::fully: break;
  }
  return Watchdog::Outcome::quiet;
}

int Ni::take_pass() noexcept {
  if (!lock_.try_claim()) return -1;
  if (masks_.load(std::memory_order_seq_cst) != 0) {
    lock_.release_claim();
    return -1;
  }
  begin_turn();
  int events = run_pass(false);
  end_turn();
  if (config_.upcalls && masks_.load(std::memory_order_seq_cst) == 0) events += serve_host();
  return events;
}

void Ni::begin_turn() noexcept {
  polling_ = true;
  host_.set_away(true);
  if (armed_) disarm_links();
}

void Ni::end_turn() noexcept {
  host_.set_away(false);
  polling_ = false;
  lock_.release_claim();
}

void Ni::wake_thread() noexcept { thread_->wake(); }

// Busy when one link is: then none is armed.
Link::Armed Ni::arm_links() noexcept {
  armed_ = true;
  const bool retries = to_retry_ != nullptr || services_awake_ != 0;
  Link::Armed least = retries ? Link::Armed::partly : Link::Armed::fully;
  for (const auto& link : links_) {
    const Link::Armed armed = link->arm();
    if (armed == Link::Armed::busy) {
      disarm_links();
      return armed;
    }
    least = std::min(least, armed);
  }
  return least;
}

void Ni::disarm_links() noexcept {
  for (const auto& link : links_) link->disarm();
  armed_ = false;
}

}  // namespace lfc
