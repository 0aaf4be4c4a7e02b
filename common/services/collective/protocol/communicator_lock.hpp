// CommunicatorLock: a try-lock of one communicator for the host's threads and the NI's thread. A single host thread
// needs no atomic operation for it until the lock is shared.
//
//   if (!lock.try_lock()) return busy;
//   if (under_way) lock.share(true);        // before the NI's thread is notified of it
//   lock.unlock();
//   if (lock.try_lock_aside()) { ...; lock.unlock_aside(); }   // the NI's thread, while it is shared
//
// Threads: any.
#pragma once

#include <atomic>
#include <utility>

namespace lfc {

class CommunicatorLock {
 public:
  // `threads`: several threads of the host may call.
  explicit CommunicatorLock(bool threads) noexcept : threads_(threads), guarded_(threads) {}

  // Not recursive: false for a call from inside as well.
  bool try_lock() noexcept {
    if (guarded_) return !busy_.test_and_set(std::memory_order_acquire);
    return !std::exchange(inside_, true);
  }
  void unlock() noexcept {
    inside_ = false;  // before another thread may take the lock
    if (!guarded_) return;
    if (!threads_) guarded_ = shared_;
    // Pairs with try_lock(): the stores of this thread are visible to the next holder.
    busy_.clear(std::memory_order_release);
  }
  bool try_lock_aside() noexcept { return !busy_.test_and_set(std::memory_order_acquire); }
  void unlock_aside() noexcept { busy_.clear(std::memory_order_release); }

  // By the host, with the lock held.
  bool is_shared() const noexcept { return shared_; }
  void share(bool shared) noexcept {
    shared_ = shared;
    if (!shared || guarded_) return;
    busy_.test_and_set(std::memory_order_relaxed);
    guarded_ = true;
  }

 private:
  const bool threads_;
  bool guarded_;         // another thread may come; it changes only where the host has one thread
  bool shared_ = false;  // with the NI's thread
  bool inside_ = false;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace lfc
