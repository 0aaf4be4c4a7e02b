// SendLock: serialises the host's threads and the control program on the state of sending.
//
// Three kinds, fixed at construction, because each is for another crowd:
//   none    one thread: a predictable branch.
//   biased  one host thread at a time, and the NI thread now and then. The host enters by a plain
//           store and a plain load and may enter again while inside; the NI thread pays for both
//           (a system call) and never waits: it gives up when the host is inside.
//   shared  several host threads: a short spin lock that yields. Not to be entered twice.
// With `shared` it is never held while a callback of the host runs, so no lock order with the
// host's own locks can close a cycle; with `biased` nobody but the NI thread could want it, which
// does not wait.
//
//   SendLock lock(SendLock::Kind::biased);
//   { SendLock::Guard guard(lock); ... }                     // host
//   if (lock.try_claim()) { ...; lock.release_claim(); }     // NI thread
//
// Why the two sides of `biased` exclude each other: the host stores `depth_` and loads `claim_`,
// the NI thread stores `claim_` and loads `depth_`, with an asymmetric fence in between, so at
// least one sees the other and goes back (tests/unit/handshake_test.cpp, every interleaving).
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "sync/asymmetric_fence.hpp"
#include "sync/gate.hpp"

namespace lfc {

class SendLock {
 public:
  enum class Kind : std::uint8_t { none, biased, shared };

  explicit SendLock(Kind kind) noexcept
      : kind_(kind),
        cheap_(kind == Kind::biased &&
               AsymmetricFence(AsymmetricFence::Scope::process).is_asymmetric()) {}
  explicit SendLock(bool threads) noexcept : SendLock(threads ? Kind::shared : Kind::none) {}

  Kind kind() const noexcept { return kind_; }

  // --- The host ---

  // False when the NI thread, or with `shared` any other thread, holds it. The caller unlocks.
  bool try_lock() noexcept {
    if (kind_ == Kind::none) return true;
    return kind_ == Kind::biased ? enter() : take();
  }
  void unlock() noexcept {
    if (kind_ == Kind::none) return;
    if (kind_ == Kind::biased) {
      exit();
    } else {
      held_.store(false, std::memory_order_release);  // pairs with the acquire in take()
    }
  }

  // With `biased`, after try_lock() has failed: sleeps until the NI thread has left. Spinning could
  // keep it from its core, where it has been preempted, for a whole time slice.
  void await_release() noexcept {
    if (kind_ == Kind::biased) claim_.await_open();
  }

  // For the short path: where nobody but the NI thread could be inside. Always false with `shared`.
  bool try_enter() noexcept {
    if (kind_ == Kind::none) [[likely]]
      return true;
    return kind_ == Kind::biased && enter();
  }
  void leave() noexcept {
    if (kind_ != Kind::none) exit();
  }

  class Guard {
   public:
    explicit Guard(SendLock& lock) noexcept : lock_(lock) {
      if (!lock_.try_lock()) [[unlikely]]
        lock_.wait();
    }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    SendLock& lock_;
  };

  // --- The NI thread ---

  // False when somebody is inside. Never waits.
  bool try_claim() noexcept {
    if (kind_ != Kind::biased) return take();
    claim_.close();
    AsymmetricFence(AsymmetricFence::Scope::process).heavy();
    if (depth_.load(std::memory_order_acquire) == 0) return true;  // pairs with exit()
    release_claim();
    return false;
  }
  void release_claim() noexcept {
    if (kind_ != Kind::biased) return held_.store(false, std::memory_order_release);
    claim_.open();  // pairs with is_closed() in enter()
  }
  // True when a host thread waits for the holder: a long job should make way.
  bool is_wanted() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  bool enter() noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    depth_.store(depth + 1, std::memory_order_relaxed);
    if (depth != 0) return true;
    AsymmetricFence::light(cheap_);
    if (!claim_.is_closed()) [[likely]]
      return true;
    depth_.store(0, std::memory_order_release);
    return false;
  }
  void exit() noexcept {
    // Pairs with the acquire in try_claim().
    depth_.store(depth_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }
  bool take() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  [[gnu::noinline]] void wait() noexcept {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    for (int spins = 0; !try_lock(); ++spins) {
      await_release();
      // The holder may have been preempted: with more threads than cores spinning only delays it.
      if (spins >= 64) sched_yield();
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }

  const Kind kind_;
  const bool cheap_;
  std::atomic<bool> held_{false};        // shared
  Gate claim_;                           // biased: closed by the NI thread
  std::atomic<std::uint32_t> depth_{0};  // biased: how often the host is inside
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace lfc
