// Outgoing: the one message that a member is broadcasting. It waits for numbers, is sent under them in packets, and has
// ended when no packet waits any more.
//
//   Outgoing out;
//   out.begin(bytes);
//   ask_for(Outgoing::packets(bytes.size(), packet));
//   bool sound = out.go(first, packet, [&](std::uint64_t number, std::uint64_t following, auto part) {
//     return multicast_as(number, following, part, out.unsent());      // false ends it
//   });
//   bool over = !out.busy();                                           // then the bytes may be reused
//
// Packet k of n has number first + k, and n - 1 - k follow it; all but the last are full; no bytes are one packet. Held
// by tests/unit/services/ordered/outgoing_test.cpp.
// Threads: begin, packets and number by one; go and give_up with ServicePort::Access held; busy by any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lfc {

class Outgoing {
 public:
  static std::uint64_t packets(std::size_t bytes, std::size_t packet) noexcept {
    return bytes == 0 ? 1 : (bytes + packet - 1) / packet;
  }

  // Begins a message. The caller keeps the bytes unchanged until busy() is false.
  void begin(std::span<const std::byte> bytes) noexcept {
    bytes_ = bytes;
    requesting_.store(true, std::memory_order_relaxed);
  }
  // Whether the message has no number yet.
  bool requesting() const noexcept { return requesting_.load(std::memory_order_relaxed); }
  bool busy() const noexcept {
    return requesting_.load(std::memory_order_acquire) ||
           unsent_.load(std::memory_order_acquire) != 0;
  }
  // Abandons a message that has no number yet.
  void give_up() noexcept { requesting_.store(false, std::memory_order_relaxed); }
  // Returns the first number of the last message, when it is no longer busy().
  std::uint64_t number() const noexcept { return first_; }
  // The count of sends that wait, which the sender of the packets updates.
  std::atomic<std::uint32_t>& unsent() noexcept { return unsent_; }

  // Calls send(number, following, bytes) for each packet under the numbers that have come, until one returns false.
  // Returns whether all were sent.
  template <class Send>
  bool go(std::uint64_t first, std::size_t packet, Send&& send) {
    first_ = first;
    std::uint64_t following = packets(bytes_.size(), packet) - 1;
    bool sound = true;
    for (auto rest = bytes_;; ++first, --following) {
      const auto part = rest.first(std::min(rest.size(), packet));
      rest = rest.subspan(part.size());
      sound = send(first, following, part);
      if (!sound || following == 0) break;
    }
    requesting_.store(false, std::memory_order_release);
    return sound;
  }

 private:
  template <class>
  friend struct Insight;  // lfc-look

  std::span<const std::byte> bytes_;
  std::atomic<bool> requesting_ = false;
  std::atomic<std::uint32_t> unsent_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace lfc
