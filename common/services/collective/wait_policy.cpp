#include "services/collective/wait_policy.hpp"

#include <sched.h>

#include "sync/relax.hpp"

namespace lfc {
namespace {

// After so many rounds it gives way even where there are processors enough for this job: some 100 us.
constexpr unsigned kLong = 1024;

}  // namespace

// Nothing else matters for a moment; a pause would cost as much as the hand-over.
bool WaitPolicy::flag_comes(const CollOperation& operation) noexcept {
  const auto* const flag = operation.flag.load(std::memory_order_relaxed);
  if (flag == nullptr) return false;
  const std::uint64_t value = operation.flag_value.load(std::memory_order_relaxed);
  for (unsigned spins = 0; spins < kSpins; ++spins)
    if (flag->load(std::memory_order_acquire) == value) return true;
  return false;
}

void WaitPolicy::give_way(unsigned idle, bool network) const {
  if (options_.crowded) {
    // Somebody else has to run before anything can change.
    if (network || idle % 8 == 0) options_.progress();
    sched_yield();
  } else if (network || idle % 16 == 0) {
    options_.progress();
    // Whoever it waits for may be kept from running by us, or by another job.
    if (idle > kLong) sched_yield();
  } else {
    relax();
  }
}

}  // namespace lfc
