// EveryMoment: a rate limiter with the cheapest clock there is (some nanoseconds). Calls that never wait use it to
// decide when to make progress for others.
//
//   EveryMoment moment;
//   if (moment.has_passed()) progress();        // at most every 8 to 32 us: how long exactly depends on the processor
//
// Threads: any; two may get true at once. Processors' clocks may differ, so a thread that has moved may get true too
// early or, once, too late.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lfc {

class EveryMoment {
 public:
  bool has_passed() noexcept {
    const std::uint64_t now = ticks();
    if (now - last_.load(std::memory_order_relaxed) <= kMoment) return false;
    last_.store(now, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::uint64_t kMoment = 1 << 15;

  static std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  std::atomic<std::uint64_t> last_{0};
};

}  // namespace lfc
