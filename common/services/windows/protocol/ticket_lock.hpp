// TicketLock: the lock of one window at one target: shared or exclusive, in the order of requests. A process that holds
// other locks passes writers that wait, because these may wait for one of its locks.
//
// It lies in shared memory of the window, if local peers can map that. Local peers and the target take it themselves;
// the target's NI takes it for all other members. Each ticket that was drawn must be waited for and given back.
//
//   const std::uint32_t ticket = lock.draw();
//   while (!lock.enter(ticket, exclusive)) progress();
//   ...
//   lock.leave(exclusive);
//
//   while (!lock.enter_past(yields)) progress();          // shared, without a ticket
//   ...
//   lock.leave_past();
//
// A writer whose turn it is waits for those that have entered past others. Meanwhile it keeps out all processes that
// yield, which are those that may have to wait. So it waits for holders only, however many processes come.
//
// Threads: any, of any process that maps it. Source: MPI-3.1 11.5.3; the fair reader-writer ticket
// lock is common knowledge.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class TicketLock {
 public:
  std::uint32_t draw() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }
  // True: it is this ticket's turn and the lock is held.
  // `beside`: an exclusive lock of a process that holds other locks meanwhile.
  bool enter(std::uint32_t ticket, bool exclusive, bool beside = false) noexcept {
    // Pairs with the release in leave(): stores of the holder before are visible to this one.
    if (exclusive)
      return writer_.load(std::memory_order_acquire) == ticket && become_writer(beside);
    if (reader_.load(std::memory_order_acquire) != ticket) return false;
    reader_.fetch_add(1, std::memory_order_release);  // the next reader may enter as well
    return true;
  }
  void leave(bool exclusive) noexcept {
    if (exclusive) {
      past_.store(0, std::memory_order_release);
      // A writer counts for readers too, none of which is inside.
      reader_.store(reader_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    writer_.fetch_add(1, std::memory_order_release);
  }
  // Shared, unless a writer is inside; with `yields` also unless one waits whose turn it is. True: the lock is held.
  bool enter_past(bool yields) noexcept {
    const std::uint32_t closed = yields ? kWriter | kWaits : kWriter;
    std::uint32_t inside = past_.load(std::memory_order_relaxed);
    while ((inside & closed) ==
           0)  // acquire: pairs with the release in leave(); the writer's stores are visible
      if (past_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }
  void leave_past() noexcept { past_.fetch_sub(1, std::memory_order_release); }
  // Returns whether a writer that holds other locks waits for those inside.
  bool holds_up_another() const noexcept {
    return (past_.load(std::memory_order_relaxed) & kBeside) != 0;
  }

 private:
  static constexpr std::uint32_t kWriter = 0x80000000u;  // a writer is inside
  static constexpr std::uint32_t kWaits = 0x40000000u;   // a writer waits, and it is its turn
  static constexpr std::uint32_t kBeside = 0x20000000u;  // and it holds other locks

  // True: no process was inside, and the writer is inside now.
  bool become_writer(bool beside) noexcept {
    std::uint32_t inside = past_.load(std::memory_order_relaxed);
    for (;;) {
      const bool empty = (inside & ~(kWaits | kBeside)) == 0;
      const std::uint32_t next = empty ? kWriter : inside | kWaits | (beside ? kBeside : 0);
      if (next == inside || past_.compare_exchange_weak(inside, next, std::memory_order_acquire,
                                                        std::memory_order_relaxed))
        return empty;
    }
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> reader_{0};  // ticket that may enter shared
  std::atomic<std::uint32_t> writer_{0};  // ticket that may enter exclusively
  std::atomic<std::uint32_t> past_{0};    // that have entered past others; and flags
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
