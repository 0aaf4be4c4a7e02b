// ActiveOperations: a lock-free list of the communicators that have nonblocking operations under way. Any thread may
// add, advance and remove entries; the list allocates nothing.
//
//   struct Mine : ActiveOperations::Entry { ... };
//   if (active.begun(mine)) keep(mine);                 // it is in the list from now on
//   ActiveOperations::ended(mine);                      // one that had begun
//   active.for_each([](ActiveOperations::Entry& entry) { advance(entry); },
//                   [](ActiveOperations::Entry& entry) { let_go(entry); });
//
// Of the threads that call for_each(), the first one visits the entries; the others return at once, and so does a call
// from inside a visit. An entry without operations is removed by a later walk, which calls `let_go` for it.
// Held by tests/unit/services/collective/active_operations_test.cpp. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class ActiveOperations {
 public:
  struct Entry {
    std::atomic<std::uint32_t> running = 0;  // begun, and not ended
    std::atomic<bool> listed = false;
    Entry* next = nullptr;
  };

  // Counts one operation of the entry. True: the entry was not in the list, and is now.
  bool begun(Entry& entry) noexcept {
    entry.running.fetch_add(1, std::memory_order_seq_cst);
    if (entry.listed.exchange(true, std::memory_order_seq_cst)) return false;
    Entry* newest = added_.load(std::memory_order_relaxed);
    do {
      entry.next = newest;
      // Pairs with the acquire in take_added(): `next` and the entry are visible there.
    } while (!added_.compare_exchange_weak(newest, &entry, std::memory_order_release,
                                           std::memory_order_relaxed));
    return true;
  }
  static void ended(Entry& entry) noexcept {
    entry.running.fetch_sub(1, std::memory_order_seq_cst);
  }

  // False: another thread is visiting the entries, or this one is, further up.
  template <class Visit, class LetGo>
  bool for_each(Visit visit, LetGo let_go) {
    if (walked_.test_and_set(std::memory_order_acquire)) return false;
    take_added();
    for (Entry** at = &first_; *at != nullptr;) {
      Entry& entry = **at;
      Entry* const next = entry.next;  // another thread may write it once the entry is removed
      if (is_over(entry)) {
        *at = next;
        let_go(entry);
      } else {
        visit(entry);
        at = &entry.next;
      }
    }
    walked_.clear(
        std::memory_order_release);  // pairs with the acquire above: the next walk sees this list
    return true;
  }

 private:
  // begun() counts first and then reads the mark; this function clears the mark first and then reads the count. Both
  // are sequentially consistent, so at least one of the two sees the other.
  static bool is_over(Entry& entry) noexcept {
    if (entry.running.load(std::memory_order_seq_cst) != 0) return false;
    entry.listed.store(false, std::memory_order_seq_cst);
    return entry.running.load(std::memory_order_seq_cst) == 0 ||
           entry.listed.exchange(true, std::memory_order_seq_cst);
  }
  void take_added() noexcept {
    if (added_.load(std::memory_order_relaxed) == nullptr) return;
    Entry* entry = added_.exchange(nullptr, std::memory_order_acquire);  // pairs with begun()
    while (entry != nullptr) {
      Entry* const next = entry->next;
      entry->next = first_;
      first_ = entry;
      entry = next;
    }
  }

  std::atomic<Entry*> added_ = nullptr;  // by any thread since the last walk
  Entry* first_ = nullptr;               // used by the walking thread only
  std::atomic_flag walked_ = ATOMIC_FLAG_INIT;
};

}  // namespace lfc
