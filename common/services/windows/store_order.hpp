// StoreOrder: the processor fences between the stores to mapped memory of a process and its later loads from it, in all
// its windows. A flush completes the stores before it, so no later load of the process may overtake them. The processor
// makes stores visible in order by itself; only loads may overtake them. So a flush leaves the fence to the next load.
//
//   order.note_stores(); copy(there, here, 8);            // a put
//   order.flush();                                        // no fence, if one thread calls MPI
//   order.before_loads(); copy(here, there, 8);           // a get: the fence that the flush has saved
//
// *Held by* tests/rma/litmus.c.
// Threads: the callers of all windows. With `threads` they may be several at a time: each flush is a fence then,
// because another thread may make the next load.
#pragma once

#include <utility>

#include "sync/atomic_fence.hpp"
#include "sync/fence.hpp"

namespace lfc {

class StoreOrder {
 public:
  explicit StoreOrder(bool threads) noexcept : threads_(threads) {}

  // Called before or after stores by plain instructions.
  void note_stores() noexcept {
    if (!threads_) stored_ = true;
  }
  void before_loads() noexcept {
    if (unordered_) [[unlikely]]
      all();
  }
  // Called before a CPU atomic, and before loads that follow one.
  void before_atomic() noexcept {
    if constexpr (!kAtomicsAreFences) before_loads();
  }
  // Flushes operations that were done by loads and stores alone.
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
    if (!threads_) stored_ = unordered_ = false;
  }

 private:
  const bool threads_;
  // Both stay false with `threads`.
  bool stored_ = false;     // not flushed yet
  bool unordered_ = false;  // loads may still overtake stores that a flush has completed
};

}  // namespace lfc
