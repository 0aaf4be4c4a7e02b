// Gate: one thread closes and opens it; the others sleep while it is closed.
//
//   gate.close();                                   // the owner
//   gate.open();
//
//   while (gate.is_closed()) gate.await_open();     // anybody else
//
// Why no sleeper is forgotten: he counts himself, then the kernel looks whether the gate is still
// closed; open() opens it, then looks whether anybody is counted. Both with full fences in between,
// so one of the two sees the other (tests/unit/sync/handshake_test.cpp, every interleaving).
// All there is to know lies in the gate itself. The wait() and notify_all() of std::atomic keep a
// table of sleepers instead, one in each library that hides its symbols: a thread of liblfc would
// not find a sleeper who was compiled into a component.
//
// Cost: close() and is_closed() are a plain store and load; open() makes a system call only if
// somebody sleeps. Threads: one owner; any number of others.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class Gate {
 public:
  // Not ordered with what follows: the owner's fence does that.
  void close() noexcept { closed_.store(1, std::memory_order_relaxed); }
  // What the owner has done since close() is seen by whoever finds the gate open.
  void open() noexcept {
    closed_.store(0, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_all();
  }

  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire) != 0; }
  // Returns once it has been opened; now and then before.
  void await_open() noexcept;

 private:
  void wake_all() noexcept;

  std::atomic<std::uint32_t> closed_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace lfc
