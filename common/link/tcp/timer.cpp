#include "link/tcp/timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>

namespace lfc::tcp {

bool Timer::open() noexcept {
  descriptor_ = Socket(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  return static_cast<bool>(descriptor_);
}

void Timer::run(std::chrono::milliseconds period) noexcept {
  const timespec time{static_cast<time_t>(period.count() / 1000),
                      static_cast<long>(period.count() % 1000 * 1'000'000)};
  const itimerspec timer{time, time};
  static_cast<void>(::timerfd_settime(descriptor_.fd(), 0, &timer, nullptr));
}

bool Timer::rang() noexcept {
  std::uint64_t rounds = 0;
  return ::read(descriptor_.fd(), &rounds, sizeof rounds) > 0;
}

}  // namespace lfc::tcp
