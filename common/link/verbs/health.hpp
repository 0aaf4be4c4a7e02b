// Health: the asynchronous events of a device and its port, and the losses of connections that follow.
//
//   Health health(device, patience);                          // how long a port may be down
//   while (const std::optional<Health::Loss> loss = health.next(Clock::now()))
//     end(loss->queue_pair, loss->why);                        // kNoQueuePair: all
//
// A port that is down for a moment costs nothing, because the device retransmits lost packets. A port that is down for
// longer than devices retransmit ends all connections, also idle ones.
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

  Health(Device& device, Clock::duration longest_outage) noexcept
      : device_(device), longest_outage_(longest_outage) {}

  // True: the port is down, so next() has to compare times.
  bool is_timed() const noexcept { return too_long_at_ != Clock::time_point{}; }
  // True each kLook-th idle poll: then next() reads events, which costs a system call.
  bool is_due() noexcept { return ++idle_ % kLook == 0 || is_timed(); }
  // Reads events. None: no event is left that ends a connection.
  std::optional<Loss> next(Clock::time_point now) noexcept;

 private:
  static constexpr std::uint32_t kLook = 1024;

  Device& device_;
  const Clock::duration longest_outage_;
  Clock::time_point too_long_at_{};
  std::uint32_t idle_ = 0;
};

}  // namespace lfc::verbs
