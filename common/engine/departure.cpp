#include "engine/departure.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

namespace lfc {

Departure::Departure(const SendLock& lock, const Activity& activity)
    : lock_(lock),
      activity_(activity),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Departure::~Departure() {
  if (timer_ >= 0) ::close(timer_);
}

bool Departure::set_timer(std::uint64_t visits) noexcept {
  const unsigned skipped = skipped_.load(std::memory_order_relaxed);
  if (skipped < skip_limit_.load(std::memory_order_relaxed)) {
    skipped_.store(skipped + 1, std::memory_order_relaxed);
    return false;
  }
  if (pending_.exchange(true, std::memory_order_relaxed)) return false;
  skipped_.store(0, std::memory_order_relaxed);
  armed_at_.store(visits, std::memory_order_relaxed);
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(delay_.count() / 1'000'000'000);
  time.it_value.tv_nsec = static_cast<long>(delay_.count() % 1'000'000'000);
  if (::timerfd_settime(timer_, 0, &time, nullptr) == 0) return true;
  pending_.store(false, std::memory_order_relaxed);
  return false;
}

void Departure::take_timer() noexcept {
  std::uint64_t count = 0;
  const bool ended = ::read(timer_, &count, sizeof count) > 0;
  pending_.store(!ended && errno != EAGAIN, std::memory_order_relaxed);
  full_fence();
}

}  // namespace lfc
