// AsymmetricFence: a full memory fence whose whole price is paid by the side that needs it rarely.
//
// Two sides each store one word and then load the other's; at least one of them has to see the
// other's store. Normally that takes a full fence on both sides. With the kernel's membarrier the
// frequent side only keeps the compiler from reordering, and the rare side makes every running
// thread of the process, or of all processes of the host that have registered, pass a fence.
//
//   AsymmetricFence fence(AsymmetricFence::Scope::process);
//   frequent: mine.store(1, relaxed); fence.light(); if (theirs.load(relaxed)) ...
//   rare:     theirs.store(1, relaxed); fence.heavy(); if (mine.load(relaxed)) ...
//
// Where the kernel has no membarrier both sides take a full fence. Between processes the frequent
// side may be light only if it has registered and knows that the rare side can be heavy().
// Proof by exhaustion: tests/unit/sync/handshake_test.cpp.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/fence.hpp"

namespace lfc {

class AsymmetricFence {
 public:
  // Who has to be fenced: the threads of this process, or registered processes of the host, too.
  enum class Scope : std::uint8_t { process, host };

  // Registers this process with the kernel on first use: up to some 10 ms when it has threads.
  explicit AsymmetricFence(Scope scope) noexcept : scope_(scope), cheap_(registered(scope)) {}

  // Whether light() costs nothing and heavy() fences the others.
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
  static bool registered(Scope scope) noexcept;

  Scope scope_;
  bool cheap_;
};

}  // namespace lfc
