#include "engine/ni_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/faults.hpp"
#include "engine/turn.hpp"
#include "machine/cores.hpp"
#include "sync/relax.hpp"
#include "sync/sleep_word.hpp"

namespace lfc {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// Limits of the measured delay. Above the longest, the machine does not wake threads at all. Below the shortest,
// looking after a host that was just seen costs more than it gains. A look takes some 10 us of the host's processor,
// and the first one comes after a delay.
constexpr nanoseconds kShortestDelay = 50us;
constexpr nanoseconds kLongestDelay = 200us;
// Interval between checks whether the machine is crowded; one check costs about as much as a look.
constexpr nanoseconds kCrowdInterval = 20ms;
constexpr int kMeasurements = 7;
constexpr nanoseconds kMeasuringNap = 100us;  // its core may fall asleep as well
// The watch of batched frames ends after this many checks without a new frame.
constexpr int kFruitlessWatches = 10;

constexpr std::size_t kOwnFds = 2;  // the others are the links'

// `fixed`: passes in vain before a thread sleeps between two passes; and its shortest sleep.
constexpr int kFruitless = 200;
constexpr nanoseconds kFirstNap = 1us;
constexpr int kNapDoublings = 10;

nanoseconds now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

thread_local bool is_ni_thread = false;

// Lets the scheduler put this thread in front of one that computes, because its jobs are short. Linux 6.12.
void request_short_slices() noexcept {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  static_assert(sizeof attributes == 48);
  // Keeps the job's own priority; a real-time one has no slices.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.runtime = 100'000;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

NiThread::NiThread(Turn& turn, const SendLock& lock)
    : turn_(turn),
      departure_(lock, turn.activity()),
      delay_(turn.config().delay),
      linger_(kLinger) {
  std::vector<int> fds;
  for (const auto& link : turn_.links()) link->wait_fds(fds);
  fds_.reserve(fds.size() + kOwnFds);
  const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  fds_.push_back({wake_fd, POLLIN, 0});
  fds_.push_back({departure_.timer(), POLLIN, 0});
  for (const int fd : fds) fds_.push_back({fd, POLLIN, 0});

  // The thread inherits this mask, so it receives no signal.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(wake_fd);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

NiThread::~NiThread() {
  stop_.store(true, std::memory_order_release);
  wake();
  thread_.join();
  ::close(fds_.front().fd);
}

void NiThread::wake() noexcept {
  const std::uint64_t one = 1;
  // A full counter is the only error, and it wakes the thread as well.
  if (::write(fds_.front().fd, &one, sizeof one) < 0) return;
}

NiThread::Woken NiThread::wait(nanoseconds time, bool links) noexcept {
  timespec limit{};
  const bool forever = time == Watchdog::kForever;
  limit.tv_sec = static_cast<time_t>(time.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(time.count() % 1'000'000'000);
  const int ready =
      ::ppoll(fds_.data(), links ? fds_.size() : kOwnFds, forever ? nullptr : &limit, nullptr);
  if (ready <= 0) return Woken::by_time;
  if (fds_[0].revents == 0) {
    if (fds_[1].revents == 0) return Woken::by_link;
    departure_.take_timer();
    return Woken::by_leave;
  }
  std::uint64_t count = 0;
  if (::read(fds_.front().fd, &count, sizeof count) < 0) return Woken::by_time;
  return Woken::by_wake;
}

bool NiThread::is_current() noexcept { return is_ni_thread; }

void NiThread::prepare() noexcept {
  is_ni_thread = true;
  (void)pthread_setname_np(pthread_self(), "lfc-ni");
  (void)prctl(PR_SET_TIMERSLACK, 1000UL);
  request_short_slices();
  const std::vector<int>& cpus = turn_.config().cpus;
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void NiThread::run() noexcept {
  prepare();
  if (turn_.config().policy == Policy::fixed) {
    own();
  } else {
    measure();
    float_around();
  }
}

// --- The cost of a wake-up ---

// Measured by the thread's own naps, so no caller waits for it: at a program's start a crowded machine has no processor
// for another thread.
void NiThread::measure() noexcept {
  if (delay_ != 0ns) return;
  std::array<nanoseconds, kMeasurements> costs;
  for (nanoseconds& cost : costs) {
    const nanoseconds from = now();
    std::this_thread::sleep_for(kMeasuringNap);
    cost = now() - from - kMeasuringNap;
  }
  // Not the median: the aim is the machine's cost and not the load of the moment.
  std::sort(costs.begin(), costs.end());
  delay_ = std::clamp(2 * costs[1], kShortestDelay, kLongestDelay);
}

// --- floating ---

nanoseconds NiThread::longest_rest() const noexcept {
  const Config& config = turn_.config();
  return config.crowded_rest > config.longest_rest && is_crowded() ? config.crowded_rest
                                                                   : config.longest_rest;
}

std::uint64_t NiThread::presence() noexcept {
  const std::uint64_t presence = turn_.presence();
  if (presence != presence_.load(std::memory_order_relaxed)) {
    presence_.store(presence, std::memory_order_relaxed);
    presence_changed_.store(now().count(), std::memory_order_relaxed);
  }
  return presence;
}

void NiThread::float_around() noexcept {
  departure_.set_delay(delay_);
  Counters& counters = turn_.counters();
  Watchdog dog({delay_, turn_.config().longest_rest, turn_.config().away_after});
  Watchdog::Step step = dog.begin(presence());
  nanoseconds last_query{0};
  Woken woken = Woken::by_time;
  while (!stop_.load(std::memory_order_acquire)) {
    action_.store(step.action, std::memory_order_relaxed);
    switch (step.action) {
      case Watchdog::Action::rest:
        step = departure_.before_rest(dog, step, [this] { return presence(); });
        woken = rest(fault(Fault::thread_wakes) ? 0ns : step.time);
        if (woken == Woken::by_time) counters.add(Counter::thread_looks);
        if (const nanoseconds time = now(); time - last_query >= kCrowdInterval) {
          last_query = time;
          dog.set_longest_rest(longest_rest());
        }
        step = fault(Fault::thread_runs)
                   ? Watchdog::Step{Watchdog::Action::serve}
                   : departure_.after_rest(dog, woken == Woken::by_leave, presence());
        break;
      case Watchdog::Action::sleep:
        if (wait(step.time, true) == Woken::by_link) counters.add(Counter::thread_wakeups);
        step = dog.woken(now(), presence());
        break;
      case Watchdog::Action::serve: {
        int events = 0;
        const Watchdog::Outcome outcome = turn_.take_turn(linger_, events);
        if (events > 0) {
          if (departure_.has_served()) counters.add(Counter::leaves_served);
          counters.add(Counter::thread_turns);
        }
        step = dog.served(now(), presence(), outcome, events > 0);
        break;
      }
    }
  }
}

NiThread::Woken NiThread::rest(nanoseconds time) noexcept {
  Activity& activity = turn_.activity();
  const nanoseconds begun = now();
  nanoseconds left = time;
  nanoseconds look = kBatchedFor;
  while (activity.watches()) {
    const Woken woken = wait(std::min(left, look), false);
    const std::uint64_t streams = activity.streams();
    fruitless_watches_ = streams == streams_ ? fruitless_watches_ + 1 : 0;
    streams_ = streams;
    look = turn_.flush_batched(fruitless_watches_ >= kFruitlessWatches);
    left = time - (now() - begun);
    if (woken != Woken::by_time || left <= 0ns || stop_.load(std::memory_order_acquire))
      return woken;
  }
  return wait(left, false);
}

// --- fixed ---

void NiThread::own() noexcept {
  int fruitless = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const int events = turn_.take_short_turn();
    if (events > 0) turn_.counters().add(Counter::thread_turns);
    fruitless = events > 0 ? 0 : std::min(fruitless + 1, 1 << 20);
    // The lock is free only for a moment, so that a waiting host gets it.
    for (int i = 0; i < 1000 && turn_.is_host_waiting(); ++i) relax();
    if (fruitless > 0) be_idle(fruitless);
  }
}

void NiThread::be_idle(int fruitless) noexcept {
  switch (turn_.config().idle) {
    case Idle::spin: relax(); return;
    case Idle::yield: sched_yield(); return;
    case Idle::backoff:
      if (fruitless > kFruitless)
        (void)wait(kFirstNap * (1 << std::min((fruitless - kFruitless) / 4, kNapDoublings)), false);
      return;
    case Idle::block: break;
  }
  if (fruitless <= kFruitless) return relax();
  int events = 0;
  switch (turn_.take_turn(linger_, events)) {
    case Watchdog::Outcome::quiet: (void)wait(Watchdog::kForever, true); break;
    case Watchdog::Outcome::settling: (void)wait(SleepWord::kSettling, true); break;
    case Watchdog::Outcome::unfinished: (void)wait(kFirstNap * (1 << kNapDoublings), true); break;
    case Watchdog::Outcome::host_inside:
    case Watchdog::Outcome::more: break;
  }
}

}  // namespace lfc
