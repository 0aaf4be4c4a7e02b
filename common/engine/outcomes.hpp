// Outcomes: completions and losses that have not been reported to the host: messages, operations, calls that services
// request, and lost peers. The control program adds them, and calls the host back without the lock.
//
//   Outcomes outcomes(lock);
//   outcomes.set_broken_handler(handler, context);
//   outcomes.add(message);                // control program
//   outcomes.call_back();                 // host: calls done()
//
// Each item is called back once, and a peer's loss is reported before the items that it has ended
// (tests/unit/engine/ni_loss_test.cpp). Threads: add() and add_loss() under the NI's lock. Any thread of the host may
// call call_back() without it, with upcalls also the NI's.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "engine/waiting.hpp"
#include "sync/send_lock.hpp"
#include "wire/frame.hpp"

namespace lfc {

class Outcomes {
 public:
  using BrokenHandler = void (*)(void* context, PeerId peer, std::string_view why);

  explicit Outcomes(SendLock& lock) noexcept : lock_(lock) {}
  void set_broken_handler(BrokenHandler handler, void* context) noexcept {
    broken_handler_ = handler;
    broken_context_ = context;
  }

  void add(Waiting& item) noexcept {
    finished_.push(item);
    any_.store(true, std::memory_order_relaxed);
  }
  void add_loss(PeerId peer, std::string_view why);

  // A hint.
  bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  void call_back() noexcept {
    if (any()) [[unlikely]]
      call_back_all();
  }

 private:
  struct Loss {
    PeerId peer;
    std::string why;
  };

  [[gnu::noinline]] void call_back_all() noexcept;
  // False: the call is one that this thread must leave to the host.
  static bool call_back(Waiting& item);

  SendLock& lock_;
  WaitingQueue finished_;
  std::vector<Loss> losses_;
  std::atomic<bool> any_{false};
  BrokenHandler broken_handler_ = nullptr;
  void* broken_context_ = nullptr;
};

}  // namespace lfc
