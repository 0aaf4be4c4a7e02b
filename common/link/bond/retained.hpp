// Retained: copies of the frames of one stream that the peer has not acknowledged, in order.
//
//   if (!retained.has_room(size, control)) return again;
//   retained.push(number, meta, slices, count, size, rail);
//   retained.acknowledge(head.acknowledged);
//   retained.forsake(rail);                          // its frames must be sent again
//   while (Retained::Frame* frame = retained.first_unsent()) { ...; retained.sent(*frame, other); }
//
// Memory grows with the unacknowledged frames, up to kMostMemory, and does not shrink.
// Threads: the caller serialises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "link/bond/bond_wire.hpp"
#include "wire/frame.hpp"

namespace lfc::bond {

class Retained {
 public:
  static constexpr std::size_t kControlBytes = 64 * 1024;  // for control frames alone
  static constexpr std::size_t kMostMemory = 1100 * 1024;

  struct Frame {
    std::uint32_t number = 0;
    std::uint32_t size = 0;
    Meta meta{};
    std::uint8_t rail = kNoRail;  // that carries it; kNoRail: it must be sent again
    std::size_t at = 0;           // see bytes()
  };

  bool has_room(std::size_t size, bool control) const noexcept {
    const std::size_t bytes = limits::kBondBytes + (control ? kControlBytes : 0);
    const std::size_t frames = limits::kBondFrames + (control ? limits::kBondControlFrames : 0);
    return used_ + size <= bytes && count_ < frames;
  }
  // Copies the slices, `size` bytes in all. `rail` may be kNoRail: not sent yet.
  void push(std::uint32_t number, Meta meta, const Slice* slices, int count, std::size_t size,
            std::uint8_t rail);
  // Drops all frames up to this number.
  void acknowledge(std::uint32_t number) noexcept {
    while (count_ != 0 && distance(front().number, number) >= 0) pop();
  }
  void clear() noexcept {
    while (count_ != 0) pop();
  }

  // The rail's frames must be sent again over others.
  void forsake(std::uint8_t rail) noexcept;
  Frame* first_unsent() noexcept;
  void sent(Frame& frame, std::uint8_t rail) noexcept {
    --unsent_;
    ++on_rail_[rail];
    frame.rail = rail;
  }
  const std::byte* bytes(const Frame& frame) const noexcept {
    return bytes_.data() + (frame.at & (bytes_.size() - 1));
  }

  std::size_t count() const noexcept { return count_; }
  std::size_t unsent() const noexcept { return unsent_; }
  // Frames that this rail carries.
  std::size_t on_rail(std::uint8_t rail) const noexcept { return on_rail_[rail]; }
  std::size_t memory() const noexcept { return bytes_.size() + frames_.size() * sizeof(Frame); }

 private:
  Frame& frame(std::size_t index) noexcept {
    return frames_[(head_ + index) & (frames_.size() - 1)];
  }
  Frame& front() noexcept { return frame(0); }
  void pop() noexcept;
  void make_room(std::size_t size);

  std::vector<std::byte> bytes_;  // a ring; frames are whole in it. Empty or a power of two
  std::size_t end_ = 0;           // where the next frame begins; counts on
  std::size_t used_ = 0;          // bytes of all frames
  std::size_t largest_ = 0;       // frame so far
  std::vector<Frame> frames_;     // a ring likewise
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  std::size_t unsent_ = 0;
  std::array<std::size_t, kMaxRails> on_rail_{};
};

}  // namespace lfc::bond
