// SleepWord: a word that a sleeping thread arms so that others wake it when they have work for it; no wake-up
// is lost between the two.
//
//   sleeper                                waker
//   word.arm(); full fence;           publish the work; compiler fence;
//   if (work is there) word.withdraw();    if (token = word.asleep()) {
//   else wait for the bell, kSettling;       ring the bell; word.disarm(token);
//   if (work is there) word.withdraw();    }
//   else wait for the bell, for ever;
//   word.withdraw();
//
// Why no wake-up is lost, although the waker executes no fence: suppose that a waker missed the armed word. Then it
// loaded the word before the armed word was visible, and stored its work before that load. That store may still be in
// the store buffer of its core, where it stays for microseconds at most. The second look, kSettling after the armed
// word, finds it. A core without a bound for its stores would break this; none is known. The sleeper keeps its armed
// word between the two looks. (Morrison and Afek, Temporally bounding TSO for fence-free asymmetric synchronization,
// ASPLOS 2015.) tests/unit/sync/handshake_test.cpp runs every interleaving, store buffers included.
//
// The bell (a socket) keeps its state, so it may ring before the sleeper waits. Each arming has a
// number of its own, so a late disarm() cannot undo a later arming. The waker rings before it
// calls disarm(), so if it ends in between, others ring again.
//
// Threads: one sleeper; any number of wakers, of this process or of others that map the word.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lfc {

class SleepWord {
 public:
  // A thousand times the time that a store stays in a store buffer.
  static constexpr std::chrono::milliseconds kSettling{1};

  // --- The sleeper ---

  // False: it was armed already.
  bool arm() noexcept {
    const std::uint32_t now = value_.load(std::memory_order_relaxed);
    value_.store((now | 1) + (now & 1) * 2, std::memory_order_relaxed);
    return (now & 1) == 0;
  }
  void withdraw() noexcept {
    std::uint32_t now = value_.load(std::memory_order_relaxed);
    // A failed exchange means that a waker has called disarm(): withdrawn all the same.
    if ((now & 1) != 0)
      (void)value_.compare_exchange_strong(now, now + 1, std::memory_order_relaxed);
  }

  // --- A waker ---

  // 0: not asleep, or another waker has rung already.
  std::uint32_t asleep() const noexcept {
    const std::uint32_t now = value_.load(std::memory_order_relaxed);
    return (now & 1) != 0 ? now : 0;
  }
  // Saves other wakers the ring.
  void disarm(std::uint32_t token) noexcept {
    (void)value_.compare_exchange_strong(token, token + 1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> value_;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
