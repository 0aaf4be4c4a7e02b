// ReadyStack: the sends with partitions that became ready while another thread was in the engine.
//
//   ReadyStack stack;
//   stack.push(send);                                         // any thread; no effect if it is on the stack
//   stack.take([&](Sending& send) { send_ready(send); });     // the thread in the engine
//
// take() sees all marks before push(). Threads: push() and any() by any; take() by one at a time.
#pragma once

#include <atomic>

#include "services/partitioned/protocol/requests.hpp"

namespace lfc::partitioned {

class ReadyStack {
 public:
  bool any() const noexcept { return top_.load(std::memory_order_relaxed) != nullptr; }

  void push(Sending& send) noexcept {
    if (send.stacked.exchange(true)) return;
    send.below = top_.load(std::memory_order_relaxed);
    // Pairs with the acquire in take(): `below`, and the marks before push(), are visible there.
    while (!top_.compare_exchange_weak(send.below, &send, std::memory_order_release,
                                       std::memory_order_relaxed))
      continue;
  }

  template <class Call>
  void take(Call call) {
    Sending* send = top_.exchange(nullptr, std::memory_order_acquire);
    while (send != nullptr) {
      Sending* const next = send->below;
      send->stacked.store(false);  // from now on push() has an effect again
      call(*send);
      send = next;
    }
  }

 private:
  std::atomic<Sending*> top_ = nullptr;
};

}  // namespace lfc::partitioned
