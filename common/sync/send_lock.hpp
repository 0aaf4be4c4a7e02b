// SendLock: the lock of the state of sending, for the host's threads and the control program.
//
// Three kinds, fixed at construction, for different sets of threads:
//   none    one thread: a predictable branch.
//   biased  one host thread at a time, and the NI thread now and then. The host enters by a plain
//           store and a plain load and may enter again while inside. The NI thread pays for both
//           (a system call) and never waits: it gives up if the host is inside.
//   shared  several host threads: a short spin lock that yields. Not to be entered twice.
// With `shared` it is never held while a callback of the host runs, so no lock order with the
// host's own locks can close a cycle. With `biased` only the NI thread could want it, which
// does not wait.
//
//   SendLock lock(SendLock::Kind::biased);
//   { SendLock::Guard guard(lock); ... }                     // host
//   if (const auto entry = lock.try_enter(); entry != SendLock::kRefused) { ...; lock.leave(entry); }
//   if (lock.try_claim()) { ...; lock.release_claim(); }     // NI thread
//
// Why the two sides of `biased` exclude each other: the host stores `visits_` and loads `claim_`; the NI thread stores
// `claim_` and loads `visits_`. An asymmetric fence is in between, so at least one sees the other and goes back
// (tests/unit/sync/handshake_test.cpp, every interleaving). `visits_` is odd while the host is inside, and grows by two
// for each visit that the thread has to notice.
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
      : kind_(kind), cheap_(kind == Kind::biased && AsymmetricFence().is_asymmetric()) {}

  Kind kind() const noexcept { return kind_; }

  // --- The host ---

  // The result of entering, which leave() needs.
  using Entry = std::uint64_t;
  static constexpr Entry kRefused = ~Entry{0};

  // Returns kRefused if the NI thread or, with `shared`, any other thread holds the lock.
  Entry try_enter() noexcept {
    if (kind_ == Kind::biased) [[likely]]
      return enter();
    return kind_ == Kind::none || take() ? 0 : kRefused;
  }
  void leave(Entry entry) noexcept {
    if (kind_ == Kind::none) return;
    if (kind_ == Kind::biased) [[likely]] {
      // The value before: still odd if the host was inside before. Pairs with the acquire in try_claim(): the NI thread
      // that sees the host gone sees all its stores.
      visits_.store(entry, std::memory_order_release);
    } else {
      held_.store(false,
                  std::memory_order_release);  // pairs with the acquire in take(): shows our stores
    }
  }
  // Waits for the lock. Entries are left in the opposite order.
  Entry await_entry() noexcept {
    const Entry entry = try_enter();
    return entry != kRefused ? entry : wait();
  }
  // leave() that also changes visits().
  void leave_visit(Entry entry) noexcept {
    if (kind_ == Kind::shared) note_visit();
    leave(entry + 2);
  }
  // For the host while it is not inside.
  void note_visit() noexcept {
    visits_.store(visits_.load(std::memory_order_relaxed) + 2, std::memory_order_relaxed);
  }
  std::uint64_t visits() const noexcept { return visits_.load(std::memory_order_relaxed) / 2; }

  // After a refusal with `biased`: sleeps until the NI thread has left. Spinning could
  // keep that thread from its core, if it was preempted there, for a whole time slice.
  void await_release() noexcept {
    if (kind_ == Kind::biased) claim_.await_open();
  }

  // For the short path, where only the NI thread could be inside. Always refused with `shared`.
  Entry try_enter_short() noexcept {
    if (kind_ == Kind::biased) return enter();
    return kind_ == Kind::none ? 0 : kRefused;
  }

  class Guard {
   public:
    explicit Guard(SendLock& lock) noexcept : lock_(lock), entry_(lock.await_entry()) {}
    ~Guard() { lock_.leave(entry_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    SendLock& lock_;
    const Entry entry_;
  };

  // --- The NI thread ---

  // False: another thread is inside. Never waits.
  bool try_claim() noexcept {
    if (kind_ != Kind::biased) return take();
    claim_.close();
    AsymmetricFence().heavy();
    if (visits_.load(std::memory_order_acquire) % 2 == 0)
      return true;  // pairs with leave(): shows its stores
    release_claim();
    return false;
  }
  void release_claim() noexcept {
    if (kind_ != Kind::biased) return held_.store(false, std::memory_order_release);
    claim_.open();  // pairs with is_closed() in enter(): the host sees our stores
  }
  // True: a host thread waits for the holder, so a long job should leave.
  bool is_wanted() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Entry enter() noexcept {
    const std::uint64_t visits = visits_.load(std::memory_order_relaxed);
    if (visits % 2 != 0) return visits;
    visits_.store(visits + 1, std::memory_order_relaxed);
    AsymmetricFence::light(cheap_);
    if (!claim_.is_closed()) [[likely]]
      return visits;
    visits_.store(visits, std::memory_order_release);
    return kRefused;
  }
  bool take() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  [[gnu::noinline]] Entry wait() noexcept {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    Entry entry = kRefused;
    for (int spins = 0; (entry = try_enter()) == kRefused; ++spins) {
      await_release();
      // The holder may have been preempted; with more threads than cores, spinning only delays it.
      if (spins >= 64) sched_yield();
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return entry;
  }

  const Kind kind_;
  const bool cheap_;
  std::atomic<bool> held_{false};  // shared
  Gate claim_;                     // biased: closed by the NI thread
  std::atomic<std::uint32_t> waiters_{0};
  // Alone on its line: the host writes it with every poll.
  alignas(64) std::atomic<std::uint64_t> visits_{0};
};

}  // namespace lfc
