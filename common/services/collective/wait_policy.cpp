#include "services/collective/wait_policy.hpp"

#include <sched.h>

#include "sync/relax.hpp"

namespace lfc {
namespace {

// After so many rounds, some 100 us, a rank yields even where this job has enough processors.
constexpr unsigned kLong = 1024;

}  // namespace

// Polls the flag without a pause, which would take as long as the flag's cache line.
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
    // Another process has to run before anything can change.
    if (network || idle % 8 == 0) options_.progress();
    sched_yield();
  } else if (network || idle % 16 == 0) {
    options_.progress();
    // This rank, or another job, may keep the process that it waits for from running.
    if (idle > kLong) sched_yield();
  } else {
    relax();
  }
}

}  // namespace lfc
