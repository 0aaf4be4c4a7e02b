// Retries: when a process connects again after a connection that ended before it was established. Nothing was lost with
// such a connection: its peer may have dropped it to make room, because this process computed and sent no hello.
//
//   if (const auto pause = retries.after_close(was_prompt)) connect_at(now + *pause);
//   else give_up();                                    // the peer closes one connection after the other
//
// The pause doubles each time. The peer gives up the connections of a process that it does not accept, so their number
// is limited; but a close that met no hello, because this process was late, does not count.
// A pure state machine. Held by tests/unit/link/tcp/parts_test.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace lfc::tcp {

class Retries {
 public:
  using Duration = std::chrono::milliseconds;
  static constexpr int kMost = 10;  // in a row
  static constexpr Duration kShortest{1};
  static constexpr Duration kLongest{1000};
  // A hello that is sent later than this after connect() is late.
  static constexpr Duration kPrompt{100};

  // Returns the pause before the next connection; none: no more.
  std::optional<Duration> after_close(bool counts) noexcept {
    if (counts && ++closed_ > kMost) return std::nullopt;
    const Duration pause = pause_;
    pause_ = std::min(pause_ * 2, kLongest);
    return pause;
  }

 private:
  int closed_ = 0;
  Duration pause_ = kShortest;
};

}  // namespace lfc::tcp
