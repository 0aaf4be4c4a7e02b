// ReadyStack: sends of which something became ready while somebody else was in the engine, who is to send it.
//
//   ReadyStack stack;
//   stack.push(send);                                         // any thread; nothing, if it is there
//   stack.take([&](Sending& send) { send_ready(send); });     // who is in the engine
//
// What a thread has marked before push() take() sees. Threads: push() and any() by any; take() by one at a time.
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
    // Pairs with the acquire in take().
    while (!top_.compare_exchange_weak(send.below, &send, std::memory_order_release,
                                       std::memory_order_relaxed))
      continue;
  }

  template <class Call>
  void take(Call call) {
    Sending* send = top_.exchange(nullptr, std::memory_order_acquire);
    while (send != nullptr) {
      Sending* const next = send->below;
      send->stacked.store(false);  // from now on it is pushed anew
      call(*send);
      send = next;
    }
  }

 private:
  std::atomic<Sending*> top_ = nullptr;
};

}  // namespace lfc::partitioned
