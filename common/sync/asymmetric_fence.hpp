// AsymmetricFence: a full memory fence whose whole price is paid by the side that needs it rarely.
//
// Two sides each store one word and then load the other's; at least one of them has to see the
// other's store. Normally that takes a full fence on both sides. With the kernel's membarrier the
// frequent side only keeps the compiler from reordering, and the rare side makes every running
// thread of the process, or of all processes of the node that have registered, pass a fence.
//
//   AsymmetricFence fence(AsymmetricFence::Scope::process);
//   frequent: mine.store(1, relaxed); fence.light(); if (theirs.load(relaxed)) ...
//   rare:     theirs.store(1, relaxed); fence.heavy(); if (mine.load(relaxed)) ...
//
// Where the kernel has no membarrier both sides take a full fence. Between processes the frequent
// side may be light only if it has registered and knows that the rare side can be heavy():
//
//   if (AsymmetricFence::may_be_light() && theirs_is_asymmetric) ...
//
// To register takes the kernel some 10 ms when the process has threads. A process whose start has no
// time for that leaves it to a thread: within the process to the rare side, in its first heavy().
// Proof by exhaustion: tests/unit/sync/handshake_test.cpp.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/fence.hpp"

namespace lfc {

class AsymmetricFence {
 public:
  // Who has to be fenced: the threads of this process, or registered processes of the node, too.
  enum class Scope : std::uint8_t { process, node };

  explicit AsymmetricFence(Scope scope) noexcept : scope_(scope), cheap_(is_known(scope)) {}

  // Whether light() costs nothing and heavy() fences the others.
  bool is_asymmetric() const noexcept { return cheap_; }

  // Whether this process has registered with those of the node. It does so now, unless that is left to a thread.
  static bool may_be_light() noexcept;
  // A thread of this process will register it.
  static void leave_to_thread() noexcept;
  static void register_process() noexcept;

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
  static bool is_known(Scope scope) noexcept;

  Scope scope_;
  bool cheap_;
};

}  // namespace lfc
