// SpinLock: for short critical sections that are entered from within Open MPI's progress loop, where the same thread
// may come by again: try_lock() then returns false. A std::mutex does not permit that call.
//
//   const std::lock_guard guard(lock);
//   if (!lock.try_lock()) return 0;
#pragma once

#include <sched.h>

#include <atomic>

namespace lfc::neon {

class SpinLock {
 public:
  bool try_lock() noexcept { return !taken_.test_and_set(std::memory_order_acquire); }
  void lock() noexcept {
    while (!try_lock()) sched_yield();
  }
  void unlock() noexcept { taken_.clear(std::memory_order_release); }  // pairs with try_lock()

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

}  // namespace lfc::neon
