#include "services/collective/agreement.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace lfc {

// The kernel reads the word of the atomic itself. Local peers share it, so these are no private futexes.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Returns when the word has changed, or after `span`. A signal does not end the sleep: the kernel returns, and the rest
// of the span follows.
void Agreement::sleep_while(std::uint32_t arrived, std::chrono::nanoseconds span) const noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + span;
  while (arrived_.load(std::memory_order_relaxed) == arrived) {
    const std::chrono::nanoseconds left = end - Clock::now();
    if (left <= left.zero()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec limit{static_cast<time_t>(seconds.count()),
                         static_cast<long>((left - seconds).count())};
    (void)syscall(SYS_futex, &arrived_, FUTEX_WAIT, arrived, &limit, nullptr, 0);
  }
}

void Agreement::wake_all() noexcept {
  (void)syscall(SYS_futex, &arrived_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::optional<std::uint32_t> Agreement::combine(std::uint32_t word, std::uint32_t ranks,
                                                const std::function<bool()>& is_hopeless,
                                                std::chrono::nanoseconds sleep) {
  missing_.fetch_or(~word, std::memory_order_relaxed);
  // Pairs with the loads of a rank that finds all arrived: the words of all ranks are visible to it.
  std::uint32_t arrived = arrived_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == ranks) wake_all();
  unsigned sleeps = 0;  // since the last arrival
  while (arrived != ranks && (arrived & kGivenUp) == 0) {
    const std::uint32_t before = arrived;
    sleep_while(arrived, sleep);
    arrived = arrived_.load(std::memory_order_acquire);
    sleeps = arrived == before ? sleeps + 1 : 0;
    if (sleeps == 0 || (sleeps < kMostSleeps && !is_hopeless())) continue;
    if (arrived_.compare_exchange_strong(arrived, arrived | kGivenUp, std::memory_order_acquire)) {
      wake_all();
      return std::nullopt;
    }
    sleeps = 0;  // another rank has arrived, or given up
  }
  if (arrived != ranks) return std::nullopt;
  return ~missing_.load(std::memory_order_relaxed);
}

}  // namespace lfc
