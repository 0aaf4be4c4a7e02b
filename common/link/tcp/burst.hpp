// Burst: the frames that a connection is given between two polls, and the decision whether to batch the next one. If
// frames follow each other faster than the socket takes them one by one, they leave together.
//
//   if (burst.is_first(polls)) { send(frame); return; }      // a lone frame needs no other check
//   bool batch = flush_is_promised && burst.follow(now);
//   if (!batch) { write(frame); burst.wrote(begun, ended); }
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
  // Bounds of the assumed duration of a write. The next frame joins the batch if it comes within that time.
  static constexpr Time kShortest{1'000};
  static constexpr Time kLongest{10'000};
  // Number of frames from which on a burst is a stream.
  static constexpr std::int32_t kStream = 8;
  static constexpr std::int32_t kPause = 64;

  // Counts a frame. True: it is the first since the poll with this number, or a pause is in progress.
  bool is_first(std::uint32_t poll) noexcept {
    if (poll == poll_) [[unlikely]]
      return ++frames_ <= 0;
    poll_ = poll;
    frames_ = 1;
    return true;
  }
  // Nothing can be batched: each of the next kPause frames counts as a first one.
  void pause() noexcept { frames_ = -kPause; }
  // Called for each frame after the first. True: the frame came soon enough after the previous one to wait for the
  // next. The second frame always does, because the time of the first is not measured.
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
