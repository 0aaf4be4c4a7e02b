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

// Returns when woken, after `limit`, or for a signal; at once if the word has changed.
void Agreement::sleep_while(std::uint32_t arrived, std::chrono::nanoseconds limit) const noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec span{static_cast<time_t>(seconds.count()),
                      static_cast<long>((limit - seconds).count())};
  (void)syscall(SYS_futex, &arrived_, FUTEX_WAIT, arrived, &span, nullptr, 0);
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
  unsigned sleeps = 0;
  while (arrived != ranks && (arrived & kGivenUp) == 0) {
    sleep_while(arrived, sleep);
    const std::uint32_t now = arrived_.load(std::memory_order_acquire);
    sleeps = now == arrived ? sleeps + 1 : 0;
    arrived = now;
    if (sleeps == 0 || (sleeps < kMostSleeps && !is_hopeless())) continue;
    if (arrived_.compare_exchange_strong(arrived, arrived | kGivenUp, std::memory_order_acquire)) {
      wake_all();
      return std::nullopt;
    }
  }
  if (arrived != ranks) return std::nullopt;
  return ~missing_.load(std::memory_order_relaxed);
}

}  // namespace lfc
