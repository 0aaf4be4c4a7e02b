// TicketLock: the lock of one window at one target: shared or exclusive, in the order of asking; but who may hold
// several locks at a time passes writers that wait, for these may wait for another lock that he holds.
//
// It lies in the memory of the window where neighbours on the host can reach it, and is taken by
// them, by the target itself and, for everybody else, by the target's NI. A ticket taken must be
// waited for and given back.
//
//   const std::uint32_t ticket = lock.draw();
//   while (!lock.enter(ticket, exclusive)) progress();
//   ...
//   lock.leave(exclusive);
//
//   while (!lock.enter_past()) progress();                // shared, without a ticket
//   ...
//   lock.leave_past();
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
  bool enter(std::uint32_t ticket, bool exclusive) noexcept {
    // Pairs with the release in leave(): what the holder before has written is seen.
    if (exclusive) {
      std::uint32_t nobody = 0;
      return writer_.load(std::memory_order_acquire) == ticket &&
             past_.compare_exchange_strong(nobody, kWriter, std::memory_order_acquire,
                                           std::memory_order_relaxed);
    }
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
  // Shared, unless a writer is inside. True: the lock is held.
  bool enter_past() noexcept {
    std::uint32_t inside = past_.load(std::memory_order_relaxed);
    while (inside != kWriter)  // acquire: pairs with the release in leave()
      if (past_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }
  void leave_past() noexcept { past_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kWriter = 0x80000000u;

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> reader_{0};  // ticket that may enter shared
  std::atomic<std::uint32_t> writer_{0};  // ticket that may enter exclusively
  std::atomic<std::uint32_t> past_{0};    // who has entered past others, or kWriter
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
