// SendLock: serialises the host's threads and the control program on the state of sending.
//
// Without threads it costs one predictable branch. With threads it is a short spin lock that
// yields; it is never held while a callback of the host runs, so no lock order with the host's own
// locks can close a cycle.
//
//   SendLock lock(threads);
//   { SendLock::Guard guard(lock); ... }
#pragma once

#include <sched.h>

#include <atomic>

namespace lfc {

class SendLock {
 public:
  explicit SendLock(bool threads) noexcept : threads_(threads) {}

  // False when another thread holds it. The caller unlocks.
  bool try_lock() noexcept {
    return !threads_ || !held_.test_and_set(std::memory_order_acquire);  // pairs with unlock()
  }
  void unlock() noexcept {
    if (threads_) held_.clear(std::memory_order_release);  // pairs with the acquires here
  }

  class Guard {
   public:
    explicit Guard(SendLock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    SendLock& lock_;
  };

 private:
  void lock() noexcept {
    if (threads_) [[unlikely]]
      wait();
  }
  [[gnu::noinline]] void wait() noexcept {
    for (int spins = 0; held_.test_and_set(std::memory_order_acquire); ++spins) {
      // The holder may have been preempted: with more threads than cores spinning only delays it.
      if (spins >= 64) sched_yield();
    }
  }

  const bool threads_;
  std::atomic_flag held_ = ATOMIC_FLAG_INIT;
};

}  // namespace lfc
