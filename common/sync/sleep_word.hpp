// SleepWord: how a sleeper tells those who have work for it that it must be woken, and how nothing
// is lost between the two.
//
//   sleeper                                waker
//   word.announce();                       publish the work
//   fence.heavy();                         fence.light();
//   if (work is there) word.withdraw();    if (token = word.asleep()) {
//   else wait for the bell;                  ring the bell; word.answer(token);
//   word.withdraw();                       }
//
// Why no wake-up is lost: the fences order each side's store before its load, so the sleeper sees
// the work or the waker sees the announcement (tests/unit/sync/handshake_test.cpp runs every
// interleaving, store buffers included). The bell remembers that it was rung (a socket), so it may
// ring before the sleeper waits. Each announcement has a number of its own: an answer that comes
// late cannot take back a later announcement. The waker rings before it answers, so one that dies
// in between leaves others to ring again.
//
// Threads: one sleeper; any number of wakers, of this process or of others that map the word.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class SleepWord {
 public:
  // --- The sleeper ---

  void announce() noexcept {
    const std::uint32_t now = value_.load(std::memory_order_relaxed);
    value_.store((now | 1) + (now & 1) * 2, std::memory_order_relaxed);
  }
  void withdraw() noexcept {
    std::uint32_t now = value_.load(std::memory_order_relaxed);
    // A failed exchange means that a waker has answered: withdrawn all the same.
    if ((now & 1) != 0)
      (void)value_.compare_exchange_strong(now, now + 1, std::memory_order_relaxed);
  }

  // --- A waker ---

  // 0: not asleep, or somebody has rung already.
  std::uint32_t asleep() const noexcept {
    const std::uint32_t now = value_.load(std::memory_order_relaxed);
    return (now & 1) != 0 ? now : 0;
  }
  // Spares other wakers the bell.
  void answer(std::uint32_t token) noexcept {
    (void)value_.compare_exchange_strong(token, token + 1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> value_;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
