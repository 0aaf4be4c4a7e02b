// Burst: the frames that a connection is given between two polls, and whether the next of them is worth keeping back:
// if they come faster than the socket takes them one by one, they leave together.
//
//   if (burst.is_first(polls)) { send(frame); return; }      // nothing else is asked of a lone frame
//   bool keep = somebody_pushes && burst.follow(now);
//   if (!keep) { write(frame); burst.wrote(time_of_writing); }
//
// A pure state machine. Held by tests/unit/link/tcp/burst_test.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lfc::tcp {

class Burst {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment
  // What a write may be thought to take, in which the next frame has to come.
  static constexpr Time kShortest{1'000};
  static constexpr Time kLongest{10'000};
  // So many frames are a stream.
  static constexpr std::int32_t kStream = 8;
  static constexpr std::int32_t kPause = 64;

  // Another frame. True: the first since the poll of this number, or in a pause.
  bool is_first(std::uint32_t poll) noexcept {
    if (poll == poll_) [[unlikely]]
      return ++frames_ <= 0;
    poll_ = poll;
    frames_ = 1;
    return true;
  }
  // Nothing can be kept: the next frames count as first ones.
  void pause() noexcept { frames_ = -kPause; }
  // Of a frame that is not the first. True: it has come soon enough after the one before to wait for the next. When the
  // first came nobody has asked.
  bool follow(Time now) noexcept {
    const bool soon = frames_ == 2 || now - last_ <= cost_;
    last_ = now;
    return soon;
  }
  void wrote(Time begun, Time ended) noexcept {
    cost_ = std::clamp(ended - begun, kShortest, kLongest);
    last_ = ended;
  }
  bool is_stream() const noexcept { return frames_ >= kStream; }

 private:
  std::uint32_t poll_ = 0;
  std::int32_t frames_ = 0;
  Time last_{};
  Time cost_ = kLongest;
};

}  // namespace lfc::tcp
