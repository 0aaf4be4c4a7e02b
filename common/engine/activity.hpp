// Activity: whether the control program has something to look for, and whether its thread sleeps over it. Turn
// (engine/turn.hpp) drives by it; whoever leaves something to be done says so here.
//
//   activity.note_use();       // somebody talks: from now on links are polled in every pass
//   activity.leave_over();     // nothing will arrive for this: it has to be tried again in the next pass
//   if (activity.take_left_over()) retry();                   // Turn
//
// Invariant: what is left over while the thread sleeps with armed links wakes it (tests/unit/engine/ni_thread_test.cpp).
// Threads: under the NI's lock, but is_unused(), note_use(), and those of attendance.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace lfc {

class NiThread;

class Activity {
 public:
  void set_thread(NiThread* thread) noexcept { thread_ = thread; }

  void note_use() noexcept { used_.store(true, std::memory_order_relaxed); }
  // Nobody has talked yet, and no service has anything to do.
  bool is_unused() const noexcept { return !used_.load(std::memory_order_relaxed); }

  // While some thread of the host polls without a pause: however seldom that thread gets a core, the NI's
  // need not do its work. With more ranks than cores it would only take the core from whom all wait for.
  // Any number at a time.
  void attend() noexcept { attended_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { attended_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_attended() const noexcept { return attended_.load(std::memory_order_relaxed) != 0; }

  void leave_over() noexcept {
    left_over_ = true;
    if (armed_ && !driven_) [[unlikely]]
      wake_thread();
  }
  bool left_over() const noexcept { return left_over_; }
  bool take_left_over() noexcept { return left_over_ && std::exchange(left_over_, false); }

  // Somebody drives the control program.
  bool is_driven() const noexcept { return driven_; }
  void set_driven(bool driven) noexcept { driven_ = driven; }
  // The links are armed; the thread sleeps, or is about to.
  bool is_armed() const noexcept { return armed_; }
  void set_armed(bool armed) noexcept { armed_ = armed; }
  [[gnu::noinline]] void wake_thread() noexcept;

 private:
  std::atomic<bool> used_{false};
  std::atomic<std::uint32_t> attended_{0};
  bool left_over_ = false;
  bool driven_ = false;
  bool armed_ = false;
  NiThread* thread_ = nullptr;
};

}  // namespace lfc
