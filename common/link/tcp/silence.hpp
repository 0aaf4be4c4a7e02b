// Silence: has a peer's node vanished? Judged by what the kernel knows of its acknowledgements, not by what the peer
// does: its kernel acknowledges what arrives, and probes of a closed window, while the process computes or is stopped.
// While something is unacknowledged TCP's keep-alive does not run, and its own timeouts take a quarter of an hour.
//
//   Silence silence;
//   ... at intervals of Silence::interval(timeout):
//   if (silence.look(Clock::now(), socket.vital_signs(), timeout)) complain(silence.lasts());
//
// A pure state machine. Held by tests/unit/link/tcp/socket_test.cpp and tests/fault/silence.sh.
#pragma once

#include <algorithm>
#include <chrono>

namespace lfc::tcp {

// What the kernel says of a connection (Socket::vital_signs).
struct VitalSigns {
  unsigned probes = 0;   // of a closed window, since the last answer
  unsigned retries = 0;  // to send what is out, since some of it was acknowledged
  std::chrono::milliseconds since_heard{0};  // the last acknowledgement, be it of nothing new
};

class Silence {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::milliseconds;

  // How often to look.
  static constexpr Duration interval(Duration timeout) noexcept { return timeout / kLooks; }

  // True: nothing was heard for the time given, although the kernel tried again and again.
  bool look(Clock::time_point now, const VitalSigns& signs, Duration timeout) noexcept {
    const Clock::time_point heard = now - signs.since_heard;
    if (heard > heard_ + kTick) {
      heard_ = heard;
      retries_ = signs.retries;
      since_ = kNever;
    }
    // A living node that has no room answers whatever is sent again, without taking anything; so retries count from its
    // last answer.
    const unsigned retries = signs.retries - std::min(signs.retries, retries_);
    const unsigned unanswered = signs.probes + retries;
    if (unanswered == 0) {
      since_ = kNever;
      return false;
    }
    if (since_ == kNever) {
      since_ = now;
      looks_ = 0;
    }
    lasts_ = std::chrono::duration_cast<Duration>(now - since_);
    // If this whole machine was asleep, one look finds a long silence: it gets the time to hear more.
    return ++looks_ > kLooks / 2 && unanswered >= kTries && lasts_ >= timeout;
  }
  // As of the last look().
  Duration lasts() const noexcept { return lasts_; }

 private:
  static constexpr int kLooks = 8;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  // A lost packet is no silence. Nor does Linux answer probes that follow each other in half a second.
  static constexpr unsigned kTries = 3;
  static constexpr Duration kTick{20};  // the kernel's times are coarse
  Clock::time_point heard_{};
  unsigned retries_ = 0;              // then
  Clock::time_point since_ = kNever;  // from then on an answer was due
  Duration lasts_{0};
  int looks_ = 0;  // in this silence
};

}  // namespace lfc::tcp
