// Health: what happens to a device and its port beside completions, and which connections end by it.
//
//   Health health(device, patience);                          // how long a port may be down
//   while (const std::optional<Health::Loss> loss = health.next(Clock::now()))
//     end(loss->queue_pair, loss->why);                        // kNoQueuePair: all
//
// A port that is down for a moment costs nothing: the device repeats what was lost. One that is down for longer than
// devices repeat ends all connections, those among them that had nothing to send.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "link/verbs/device.hpp"

namespace lfc::verbs {

class Health {
 public:
  using Clock = std::chrono::steady_clock;
  struct Loss {
    std::uint32_t queue_pair;
    const char* why;
  };

  Health(Device& device, Clock::duration patience) noexcept
      : device_(device), patience_(patience) {}

  // The port is down: the clock has to be looked at.
  bool is_timed() const noexcept { return too_long_at_ != Clock::time_point{}; }
  // Each so many polls that found nothing the device is asked, which costs a system call.
  bool is_due() noexcept { return ++idle_ % kLook == 0 || is_timed(); }
  // Reads events. None: nothing that ends a connection is left.
  std::optional<Loss> next(Clock::time_point now) noexcept;

 private:
  static constexpr std::uint32_t kLook = 1024;

  Device& device_;
  const Clock::duration patience_;
  Clock::time_point too_long_at_{};
  std::uint32_t idle_ = 0;
};

}  // namespace lfc::verbs
