// Door: lets one at a time into a communicator: the host's threads, or its only one, which needs no atomic operation
// while nobody else may come, and the NI's thread.
//
//   if (!door.enter()) return busy;
//   if (something is under way) door.share(true);        // before the NI's thread is told of it
//   door.leave();
//   if (door.enter_aside()) { ...; door.leave_aside(); }       // the NI's thread, while it is shared
//
// Threads: any.
#pragma once

#include <atomic>
#include <utility>

namespace lfc {

class Door {
 public:
  // `threads`: of the host, several.
  explicit Door(bool threads) noexcept : threads_(threads), guarded_(threads) {}

  // Nobody comes in from inside.
  bool enter() noexcept {
    if (guarded_) return !busy_.test_and_set(std::memory_order_acquire);
    return !std::exchange(inside_, true);
  }
  void leave() noexcept {
    inside_ = false;  // before another thread may enter
    if (!guarded_) return;
    if (!threads_) guarded_ = shared_;
    busy_.clear(std::memory_order_release);  // pairs with entering
  }
  bool enter_aside() noexcept { return !busy_.test_and_set(std::memory_order_acquire); }
  void leave_aside() noexcept { busy_.clear(std::memory_order_release); }

  // By the host, inside.
  bool is_shared() const noexcept { return shared_; }
  void share(bool shared) noexcept {
    shared_ = shared;
    if (!shared || guarded_) return;
    busy_.test_and_set(std::memory_order_relaxed);
    guarded_ = true;
  }

 private:
  const bool threads_;
  bool guarded_;         // somebody else may come; it changes where the host has one thread only
  bool shared_ = false;  // with the NI's thread
  bool inside_ = false;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace lfc
