#include "engine/turn.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/faults.hpp"
#include "engine/ni_thread.hpp"
#include "engine/receiver.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;

// The longest turn before the thread checks whether it must end.
constexpr std::chrono::milliseconds kLongestTurn{1};
// How often links without connections are polled.
constexpr unsigned kPassesPerIdlePoll = 256;

void flush(const std::vector<std::unique_ptr<Link>>& links) noexcept {
  for (const auto& link : links) link->flush();
}

}  // namespace

void Activity::wake_thread() noexcept { thread_->wake(); }

Turn::Turn(const Config& config, SendLock& lock, Counters& counters, const Parts& parts)
    : config_(config), lock_(lock), counters_(counters), parts_(parts) {}

Turn::~Turn() = default;

void Turn::start() {
  for (const auto& link : links()) all_wake_ &= link->traits().wakes;
  if (config_.policy == Policy::single) return;
  thread_ = std::make_unique<NiThread>(*this, lock_);
  // With upcalls the thread may be away for long.
  activity_.set_thread(thread_.get(), config_.policy == Policy::floating && !config_.upcalls);
}

void Turn::end() {
  thread_.reset();
  activity_.set_thread(nullptr, false);
}

const std::vector<std::unique_ptr<Link>>& Turn::links() const noexcept {
  return parts_.peers.links();
}

// --- One look ---

// A link without connections can only receive the first frame of an unknown process. That may wait a little, so
// an unused link costs nothing.
int Turn::look(bool all_links) noexcept {
  int events = 0;
  const unsigned passes = passes_.load(std::memory_order_relaxed) + 1;
  if (!all_links) passes_.store(passes, std::memory_order_relaxed);
  if (all_links || passes % kPassesPerIdlePoll == 0) {
    for (const auto& link : links()) events += link->poll();
  } else {
    // By index: a callback may add a link to the list.
    const std::vector<Link*>& busy = parts_.peers.busy_links();
    for (std::size_t i = 0; i < busy.size(); ++i) events += busy[i]->poll();
  }
  if (activity_.has_afterwork()) [[unlikely]]
    do_afterwork();
  return events;
}

void Turn::do_afterwork() noexcept {
  if (activity_.take_left_over()) {
    parts_.sender.retry_all();
    parts_.services.run();
  }
  if (activity_.take_batched()) flush(links());
}

// --- The host ---

// Before any communication only the first frame of an unknown process can arrive, for which links are polled
// now and then. So a job that has loaded this NI but communicates by another transport hardly pays for it.
bool Turn::may_skip() noexcept {
  const unsigned passes = passes_.load(std::memory_order_relaxed) + 1;
  if (passes % kPassesPerIdlePoll == 0 || parts_.outcomes.any()) return false;
  passes_.store(passes, std::memory_order_relaxed);
  return true;
}

// Flattened, together with the functions that it calls when there is nothing to do.
[[gnu::flatten]] int Turn::pass_and_serve() noexcept { return pass() + serve_host(); }

int Turn::pass(bool away) noexcept {
  if (config_.policy == Policy::fixed) {
    lock_.note_visit();
    return 0;
  }
  const auto entry = lock_.try_enter();
  if (entry == SendLock::kRefused) [[unlikely]] {
    lock_.note_visit();
    lock_.await_release();
    return 0;
  }
  int events = 0;
  if (!activity_.is_driven()) {
    activity_.set_driven(true);
    HostQueue& host = parts_.receiver.host();
    // Messages that came while the host was away are older than any that may be delivered now.
    if (!away && host.mode() == HostQueue::Mode::direct && !host.empty()) [[unlikely]]
      events = parts_.receiver.hand_over(INT_MAX);
    const bool leaves = away || fault(Fault::host_leaves);
    if (leaves) host.set_away(true);
    const int found = fault(Fault::pass_skipped) ? 0 : look(false);
    if (leaves) host.set_away(false);
    // The event was to wake the thread. Instead this wakes it and reports that the host is back. So while the links
    // are armed the host never leaves work half done.
    if (found != 0 && activity_.is_armed()) [[unlikely]] {
      disarm_links();
      thread_->wake();
    }
    events += found;
    activity_.set_driven(false);
  }
  lock_.leave_visit(entry);
  return events;
}

int Turn::serve_host() noexcept {
  if (fault(Fault::host_absent)) return 0;
  Receiver& receiver = parts_.receiver;
  const int events = receiver.host().mode() == HostQueue::Mode::queued ? receiver.serve_host() : 0;
  parts_.outcomes.call_back();
  return events;
}

// --- The thread ---

// Outcome::more: it is the thread's turn, until release_claim().
Watchdog::Outcome Turn::claim() noexcept {
  if (!lock_.try_claim()) return Watchdog::Outcome::host_inside;
  activity_.set_driven(true);
  parts_.receiver.host().set_away(true);
  if (!settling_) disarm_links();  // else the word stays armed until something is found
  return Watchdog::Outcome::more;
}

void Turn::release_claim() noexcept {
  parts_.receiver.host().set_away(false);
  activity_.set_driven(false);
  lock_.release_claim();
}

Watchdog::Outcome Turn::take_turn(Linger& linger, int& events) noexcept {
  events = 0;
  if (const Watchdog::Outcome claimed = claim(); claimed != Watchdog::Outcome::more) return claimed;
  const std::uint64_t visits = lock_.visits();
  const Link::Armed armed = look_until_quiet(linger, visits, events);
  settling_ = armed == Link::Armed::settling;
  release_claim();
  events += serve_host_if_requested();
  if (lock_.visits() != visits) return Watchdog::Outcome::host_inside;
  switch (armed) {
    case Link::Armed::busy: return Watchdog::Outcome::more;
    case Link::Armed::partly: return Watchdog::Outcome::unfinished;
    case Link::Armed::settling: return Watchdog::Outcome::settling;
    case Link::Armed::fully: break;
  }
  return Watchdog::Outcome::quiet;
}

// Link::Armed::busy: the turn was cut short.
Link::Armed Turn::look_until_quiet(Linger& linger, std::uint64_t visits, int& events) noexcept {
  const auto host_is_back = [&] { return lock_.visits() != visits || lock_.is_wanted(); };
  Link::Armed armed = Link::Armed::busy;
  const Clock::time_point begun = Clock::now();
  // The time of the last arrival. A link that wakes nothing may need several looks for its work.
  Clock::time_point last = all_wake_ ? Clock::time_point{} : begun;
  bool busy = false;
  for (Clock::time_point now = begun; now - begun < kLongestTurn && !host_is_back();
       now = Clock::now()) {
    const int found = look(true);
    events += found;
    if (found != 0) {
      disarm_links();
      last = now;
      if (!std::exchange(busy, true)) linger.arrived(now.time_since_epoch());
      continue;
    }
    busy = false;
    if (now - last >= linger.time() && (armed = arm_links()) != Link::Armed::busy) break;
  }
  return armed;
}

int Turn::take_short_turn() noexcept {
  if (claim() != Watchdog::Outcome::more) return 0;
  const int events = look(false);
  if (events != 0) disarm_links();
  release_claim();
  return events + serve_host_if_requested();
}

std::chrono::nanoseconds Turn::flush_batched(bool last) noexcept {
  const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
  std::chrono::nanoseconds rest = last ? std::chrono::nanoseconds(0) : kBatchedFor;
  for (const auto& link : links()) {
    const std::chrono::nanoseconds since = link->batched_since();
    if (since.count() != 0) rest = std::min(rest, since + kBatchedFor - now);
  }
  if (rest.count() > 0) return rest;
  if (lock_.try_claim()) {
    flush(links());
    if (last) activity_.end_watch();
    lock_.release_claim();
  }
  return kBatchedFor;
}

// Link::Armed::busy: a link has more to do, and none is armed.
Link::Armed Turn::arm_links() noexcept {
  activity_.set_armed(true);
  activity_.end_watch();  // the thread will sleep
  Link::Armed least = activity_.left_over() ? Link::Armed::partly : Link::Armed::fully;
  for (const auto& link : links()) {
    const Link::Armed armed = link->arm();
    if (armed == Link::Armed::busy) {
      disarm_links();
      return armed;
    }
    least = std::min(least, armed);
  }
  return least;
}

void Turn::disarm_links() noexcept {
  if (!activity_.is_armed()) return;
  for (const auto& link : links()) link->disarm();
  activity_.set_armed(false);
}

}  // namespace lfc
