// AsymmetricFence: a full memory fence whose whole cost is paid by the thread that needs it rarely.
//
// Two threads of a process each store one word and then load the other's; at least one of them must see the
// other's store. Normally that takes a full fence in both. With the kernel's membarrier the frequent thread only keeps
// the compiler from reordering, and the rare thread makes every running thread of the process execute a fence.
//
//   AsymmetricFence fence;
//   frequent: mine.store(1, relaxed); fence.light(); if (theirs.load(relaxed)) ...
//   rare:     theirs.store(1, relaxed); fence.heavy(); if (mine.load(relaxed)) ...
//
// If the kernel has no membarrier, both threads execute a full fence. Registration takes the kernel some 10 ms if the
// process has threads; the rare thread registers in its first heavy().
//
// Not between processes. The kernel omits the fence (MEMBARRIER_CMD_GLOBAL_EXPEDITED) on a core that was idle,
// with the address space of the process still loaded, while the process registered. That lasts until another process
// runs there: the kernel reads the state of the core, and a switch from idle to the same address space does not renew
// that state. sync/sleep_word.hpp has the protocol for processes.
// Proof by exhaustion: tests/unit/sync/handshake_test.cpp.
// Threads: any.
#pragma once

#include <atomic>

#include "sync/fence.hpp"

namespace lfc {

class AsymmetricFence {
 public:
  AsymmetricFence() noexcept : cheap_(is_known()) {}

  // Returns whether light() costs nothing and heavy() fences the other threads.
  bool is_asymmetric() const noexcept { return cheap_; }

  void light() const noexcept { light(cheap_); }
  static void light(bool cheap) noexcept {
    if (cheap) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      full_fence();
    }
  }
  void heavy() const noexcept;

 private:
  static bool is_known() noexcept;

  bool cheap_;
};

}  // namespace lfc
