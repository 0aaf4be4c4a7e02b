// HoldBack: the packets of a totally ordered broadcast that wait for their turn.
// A ring of `window` places of `packet` bytes; number n lies in place n mod window.
//
//   HoldBack held(256, 4096);
//   switch (held.place(number, origin, following, bytes)) ...    // the NI, in any order
//   HoldBack::Message message;
//   while (held.front(message) == HoldBack::State::ready) {      // the host, in order
//     handle(message.origin, message.first, message.bytes);
//     held.take(message);
//   }
//
// A message is one packet or several with consecutive numbers: `following` counts those that come
// after this one; all but the last are full. It is handed out in one piece, without a copy unless
// it lies across the end of the ring.
// Bounded: packets are kept only in the ring. A packet that does not fit is rejected; a packet of a sender that keeps
// the protocol always fits (services/ordered/protocol/sequencer.hpp).
// Threads: one that places and one that takes, at the same time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace lfc {

class HoldBack {
 public:
  enum class State : std::uint8_t { ready, missing, wrong };
  struct Message {
    std::uint64_t first = 0;
    std::uint32_t count = 0;  // packets
    std::uint32_t origin = 0;
    std::span<const std::byte> bytes;  // valid until take()
  };

  // Reserves window * packet bytes, of which it touches only the part that is used.
  HoldBack(std::uint32_t window, std::size_t packet)
      : window_(window),
        packet_(packet),
        places_(std::make_unique<Place[]>(window)),
        memory_(std::make_unique_for_overwrite<std::byte[]>(window * packet)) {}

  std::uint32_t window() const noexcept { return window_; }
  std::size_t packet() const noexcept { return packet_; }
  // Returns the number below which all have been taken.
  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }

  // Copies a packet to its place. False: its number may not come now or has come before, or it is too large.
  bool place(std::uint64_t number, std::uint32_t origin, std::uint64_t following,
             std::span<const std::byte> bytes) noexcept {
    // Pairs with the release in take(): the reader has finished with a place that is free.
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    if (number < taken || number - taken >= window_ || following >= window_ ||
        bytes.size() > packet_ || (following != 0 && bytes.size() != packet_))
      return false;
    Place& place = places_[number % window_];
    if (place.filled.load(std::memory_order_relaxed)) return false;
    place.origin = origin;
    place.following = static_cast<std::uint32_t>(following);
    place.size = static_cast<std::uint32_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(data(number), bytes.data(), bytes.size());
    place.filled.store(
        true, std::memory_order_release);  // pairs with the acquire in front(): it sees the packet
    return true;
  }

  // Returns the next message in `out`. `wrong`: its packets do not belong together.
  State front(Message& out) {
    const std::uint64_t first = taken_.load(std::memory_order_relaxed);
    const Place& head = places_[first % window_];
    if (!head.filled.load(std::memory_order_acquire)) return State::missing;
    std::size_t size = head.size;
    for (std::uint32_t i = 1; i <= head.following; ++i) {
      const Place& place = places_[(first + i) % window_];
      if (!place.filled.load(std::memory_order_acquire)) return State::missing;
      if (place.origin != head.origin || place.following != head.following - i) return State::wrong;
      size += place.size;
    }
    out.first = first;
    out.count = head.following + 1;
    out.origin = head.origin;
    const std::uint64_t until_end = window_ - first % window_;
    if (out.count <= until_end) {
      out.bytes = {data(first), size};
    } else {
      joined_.resize(size);
      const std::size_t before = until_end * packet_;
      std::memcpy(joined_.data(), data(first), before);
      std::memcpy(joined_.data() + before, memory_.get(), size - before);
      out.bytes = joined_;
    }
    return State::ready;
  }
  // Whether the next packet is missing and a later one is here. Examines all places: for tests.
  bool holds_back() const noexcept {
    const std::uint64_t next = taken();
    if (places_[next % window_].filled.load(std::memory_order_relaxed)) return false;
    for (std::uint32_t i = 0; i < window_; ++i)
      if (places_[i].filled.load(std::memory_order_relaxed)) return true;
    return false;
  }
  void take(const Message& message) noexcept {
    for (std::uint32_t i = 0; i < message.count; ++i)
      places_[(message.first + i) % window_].filled.store(false, std::memory_order_relaxed);
    taken_.store(message.first + message.count, std::memory_order_release);
  }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  struct Place {
    std::atomic<bool> filled = false;
    std::uint32_t origin = 0;
    std::uint32_t following = 0;
    std::uint32_t size = 0;
  };
  std::byte* data(std::uint64_t number) const noexcept {
    return memory_.get() + number % window_ * packet_;
  }

  const std::uint32_t window_;
  const std::size_t packet_;
  std::unique_ptr<Place[]> places_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte> joined_;
  std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace lfc
