// Silence: detection of a peer node that has vanished, by TCP acknowledgements alone. The peer's kernel acknowledges
// data, and probes of a closed window, even while the peer process computes or is stopped.
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

// The kernel's counters of a connection (Socket::vital_signs).
struct VitalSigns {
  unsigned probes = 0;   // of a closed window, since the last answer
  unsigned retries = 0;  // retransmissions since the last acknowledgement of new data
  std::chrono::milliseconds since_received{
      0};  // since the last acknowledgement, also one of no new data
};

class Silence {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::milliseconds;

  // The interval at which look() is to be called.
  static constexpr Duration interval(Duration timeout) noexcept { return timeout / kLooks; }

  // True: no acknowledgement has come for the given time, although the kernel has retransmitted or probed.
  bool look(Clock::time_point now, const VitalSigns& signs, Duration timeout) noexcept {
    const Clock::time_point received = now - signs.since_received;
    if (received > received_ + kTick) {
      received_ = received;
      retries_ = signs.retries;
      since_ = kNever;
    }
    // A node without buffer space acknowledges each retransmission but takes nothing; so retries count from its last
    // acknowledgement.
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
    // After a suspend of this machine one look finds a long silence; the peer then gets more time to reply.
    return ++looks_ > kLooks / 2 && unanswered >= kTries && lasts_ >= timeout;
  }
  // As of the last look().
  Duration lasts() const noexcept { return lasts_; }

 private:
  static constexpr int kLooks = 8;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  // One lost packet is no silence. Linux also ignores a probe within half a second of the one before.
  static constexpr unsigned kTries = 3;
  static constexpr Duration kTick{20};  // the kernel's times are coarse
  Clock::time_point received_{};
  unsigned retries_ = 0;              // then
  Clock::time_point since_ = kNever;  // since then a reply has been due
  Duration lasts_{0};
  int looks_ = 0;  // in this silence
};

}  // namespace lfc::tcp
