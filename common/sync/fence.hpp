// full_fence: a memory fence that the thread sanitizer accepts: it ignores fences, so there it is an exchange.
//
//   mine.store(1, relaxed); full_fence(); if (theirs.load(relaxed)) ...
#pragma once

#include <atomic>

namespace lfc {

inline void full_fence() noexcept {
#ifdef __SANITIZE_THREAD__
  static std::atomic<int> anything;
  (void)anything.exchange(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

inline void release_fence() noexcept {
#ifdef __SANITIZE_THREAD__
  full_fence();
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace lfc
