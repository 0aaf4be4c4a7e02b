// StoreOrder: what one thread's stores to mapped memory, and its loads from it, need of the processor so that a flush
// has completed what came before it. The processor makes stores visible in order by itself; only loads may overtake
// them.
//
//   order.note_stores(); copy(there, here, 8);            // a put
//   order.flush();                                        // no fence, if one thread calls MPI
//   order.before_loads(); copy(here, there, 8);           // a get: the fence that the flush has saved, if it is owed
//
// Threads: the window's callers; with `threads` several at a time, and then each flush is a fence.
#pragma once

#include <utility>

#include "sync/fence.hpp"

namespace lfc {

class StoreOrder {
 public:
  explicit StoreOrder(bool threads) noexcept : threads_(threads) {}

  void note_stores() noexcept { stored_ = true; }
  void before_loads() noexcept {
    if (unordered_) [[unlikely]]
      all();
  }
  // A flush of what has been done by loads and stores alone.
  void flush() noexcept {
    if (threads_) {
      full_fence();
    } else {
      release_fence();
      if (std::exchange(stored_, false)) unordered_ = true;
    }
  }
  void all() noexcept {
    full_fence();
    stored_ = unordered_ = false;
  }

 private:
  const bool threads_;
  bool stored_ = false;     // not flushed yet
  bool unordered_ = false;  // loads may still overtake stores that a flush has completed
};

}  // namespace lfc
