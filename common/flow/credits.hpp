// Credits: flow control of one ordered pair of NIs, as two halves of a pure state machine.
//
// The sender holds one credit for each receive buffer that the receiver keeps for it. A data frame takes a credit. The
// receiver owes it back once the buffer is free again. It returns the credits that it owes with every frame that goes
// the other way, or in a `credit` frame of its own when it owes half a window. Control frames use no credit. So no
// buffer is ever overrun and nothing is dropped.
//
//   SendCredits out{peer.identity().initial_window};
//   if (out.available() == 0) queue(); else { transmit(); out.take(); }
//   if (!out.add(meta.credits)) ...                          // more than any window has: hostile
//
//   ReceiveWindow in{initial};
//   if (!in.accept()) ...                                    // the peer had no credit: hostile
//   if (in.release()) send_credit_frame(in.owed());          // half a window owed
//   in.collect(count);                                       // when a frame has left with them
//
// The NI applies it to its frames in one place, engine/flow.hpp. The link verbs and NEON have credits of their own and
// share the rule of half a window, OwedCredits.
//
// Invariant, checked after every event by tests/unit/flow/credits_test.cpp and tests/sim: for each ordered pair,
// credits held + data frames in flight + buffers held + credits owed + credits in flight back = window.
// Only the receiver enlarges the window: it owes more credits than it received frames. The sender never knows its
// window. Source: LFC thesis 4.1, 8.2.1; window growth is ours.
// Threads: none of its own; the caller serialises.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lfc {

// More credits than any window can have: a peer that returns them is broken or hostile.
inline constexpr std::uint32_t kMaxCredits = 1u << 20;

// OwedCredits: credits that a receiver has to return to one sender, in the caller's unit (buffers, or bytes in NEON).
class OwedCredits {
 public:
  // How many are returned in a frame of their own: half a window, and at least one.
  static constexpr std::uint32_t refresh(std::uint32_t window) noexcept {
    return std::max(1u, window / 2);
  }
  void add(std::uint32_t count) noexcept { count_ += count; }
  // A frame has left that returns so many. The reply that frees a buffer counts it before add() does.
  void collect(std::uint32_t count) noexcept { count_ -= count; }
  std::uint32_t count() const noexcept { return count_; }
  bool due(std::uint32_t window) const noexcept { return count_ >= refresh(window); }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  std::uint32_t count_ = 0;
};

class SendCredits {
 public:
  explicit SendCredits(std::uint32_t initial = 0) noexcept : available_(initial) {}
  // Takes the credit of a frame that has left; there was one.
  void take() noexcept { --available_; }
  // Adds credits that the peer returns. False, and nothing is added: no window has so many.
  bool add(std::uint32_t count) noexcept {
    if (count > kMaxCredits || available_ > kMaxCredits - count) return false;
    available_ += count;
    return true;
  }
  std::uint32_t available() const noexcept { return available_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  std::uint32_t available_;
};

class ReceiveWindow {
 public:
  explicit ReceiveWindow(std::uint32_t initial = 1) noexcept
      : until_growth_(initial), promised_(initial), window_(initial) {}

  // A frame that needs a buffer has arrived. False: the peer had no credit for it.
  bool accept() noexcept {
    if (promised_ == 0) return false;
    --promised_;
    return true;
  }
  // A receive buffer of this peer is free again. True: half a window is owed, and a frame of its own has to return it
  // unless another frame goes that way at once.
  bool release() noexcept {
    owed_.add(1);
    until_growth_ -= until_growth_ != 0 ? 1 : 0;
    return due();
  }
  bool due() const noexcept { return owed_.due(window_); }
  // A frame has left that returns so many of the credits owed.
  void collect(std::uint32_t count) noexcept {
    owed_.collect(count);
    promised_ += count;
  }

  // True when the peer has used its whole window since the last growth: worth a larger one.
  bool wants_growth() const noexcept { return until_growth_ == 0; }
  // Enlarges the window by `extra` buffers, which the caller has already provided.
  void grow(std::uint32_t extra) noexcept {
    window_ += extra;
    owed_.add(extra);
    until_growth_ = window_;
  }
  void stop_growing() noexcept { until_growth_ = ~0u; }

  std::uint32_t window() const noexcept { return window_; }
  std::uint32_t owed() const noexcept { return owed_.count(); }
  // Receive buffers in use.
  std::uint32_t held() const noexcept { return window_ - owed() - promised_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  // Members that change together are not adjacent: one store for both took more instructions than two.
  std::uint32_t until_growth_;  // buffers still to be released
  std::uint32_t promised_;      // credits at the peer, in its frames under way, or on the way back
  std::uint32_t window_;
  OwedCredits owed_;
};

// WindowBudget: the sum of the windows that one NI has promised to its peers, kept under a cap.
class WindowBudget {
 public:
  WindowBudget(std::uint32_t maximum_window, std::uint64_t cap) noexcept
      : maximum_window_(maximum_window), cap_(cap) {}

  // A new peer gets its initial window unconditionally: without it, it could never send.
  void admit(std::uint32_t initial) noexcept { granted_ += initial; }
  void dismiss(std::uint32_t window) noexcept {
    granted_ -= std::min<std::uint64_t>(granted_, window);
  }
  // Returns by how many buffers a window may grow now: it doubles, within the peer's maximum and the cap.
  std::uint32_t growth(std::uint32_t window) const noexcept {
    if (window >= maximum_window_ || granted_ >= cap_) return 0;
    const std::uint64_t room = std::min<std::uint64_t>(maximum_window_ - window, cap_ - granted_);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(window, room));
  }
  void charge(std::uint32_t extra) noexcept { granted_ += extra; }

  std::uint64_t granted() const noexcept { return granted_; }
  std::uint64_t cap() const noexcept { return cap_; }
  std::uint32_t maximum_window() const noexcept { return maximum_window_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  std::uint32_t maximum_window_;
  std::uint64_t cap_;
  std::uint64_t granted_ = 0;
};

}  // namespace lfc
