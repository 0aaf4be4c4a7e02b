// Gate: a word that one thread closes and opens; other threads sleep while it is closed.
//
//   gate.close();                                   // the owner
//   gate.open();
//
//   while (gate.is_closed()) gate.await_open();     // any other thread
//
// Why no sleeper is forgotten: a sleeper counts itself, then the kernel checks whether the gate is still closed. open()
// opens the gate, then checks whether any sleeper is counted. Both have full fences in between, so one of the two sees
// the other (tests/unit/sync/handshake_test.cpp, every interleaving). The gate contains all of its state. The wait()
// and notify_all() of std::atomic keep a table of sleepers instead, one in each library that hides its symbols. A
// thread of liblfc would not find a sleeper that was compiled into a component.
//
// Cost: close() and is_closed() are a plain store and load; open() makes a system call only if
// a thread sleeps. Threads: one owner; any number of others.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class Gate {
 public:
  // Not ordered with later accesses; the owner's fence does that.
  void close() noexcept { closed_.store(1, std::memory_order_relaxed); }
  // Pairs with the acquire in is_closed(): the owner's work since close() is visible to a thread that sees it open.
  void open() noexcept {
    closed_.store(0, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_all();
  }

  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire) != 0; }
  // Returns when the gate has been opened; sometimes earlier.
  void await_open() noexcept;

 private:
  void wake_all() noexcept;

  std::atomic<std::uint32_t> closed_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace lfc
