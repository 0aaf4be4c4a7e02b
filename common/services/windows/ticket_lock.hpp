// TicketLock: the lock of one window at one target: shared or exclusive, in the order of asking.
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
    if (exclusive) return writer_.load(std::memory_order_acquire) == ticket;
    if (reader_.load(std::memory_order_acquire) != ticket) return false;
    reader_.fetch_add(1, std::memory_order_release);  // the next reader may enter as well
    return true;
  }
  void leave(bool exclusive) noexcept {
    // A writer counts for readers too.
    if (exclusive) reader_.fetch_add(1, std::memory_order_release);
    writer_.fetch_add(1, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> reader_{0};  // ticket that may enter shared
  std::atomic<std::uint32_t> writer_{0};  // ticket that may enter exclusively
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
