// Activity: whether the control program has something to look for, and whether its thread sleeps over it. Turn
// (engine/turn.hpp) drives by it; whoever leaves something to be done says so here.
//
//   activity.note_use();       // somebody talks: from now on links are polled in every pass
//   activity.leave_over();     // nothing will arrive for this: it has to be tried again in the next pass
//   if (activity.take_left_over()) retry();                   // Turn
//   switch (activity.may_batch(stream)) ...                    // a link: may a frame wait for the next one?
//
// Invariants: what is left over while the thread sleeps with armed links wakes it; who sends gets `watched`
// only while the thread looks every kBatchedFor at what links have batched
// (tests/unit/engine/ni_thread/streams_test.cpp). Threads: under the NI's lock, but is_unused(), note_use(), those of
// attendance, those of the watch, and set_together().
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "link/link.hpp"

namespace lfc {

class NiThread;

class Activity {
 public:
  // `watches`: the thread can watch what links have batched.
  void set_thread(NiThread* thread, bool watches) noexcept {
    thread_ = thread;
    if (watches) watch_.store(Watch::off, std::memory_order_relaxed);
  }

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
  // Something is left over, or links batch frames until the end of this turn.
  bool has_afterwork() const noexcept { return left_over_ || batched_; }
  bool take_left_over() noexcept { return left_over_ && std::exchange(left_over_, false); }

  // --- Frames that links keep back ---

  Batch may_batch(bool stream) noexcept {
    if (driven_ || is_together()) {
      batched_ = true;
      return Batch::turn;
    }
    const Watch watch = watch_.load(std::memory_order_relaxed);
    if (watch == Watch::never) return Batch::never;
    streams_.store(streams_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (watch == Watch::on) return Batch::watched;
    if (stream && watch == Watch::off) ask_for_watch();
    return Batch::no;
  }
  // By one thread of the host: it pushes at the end of a few sends what links have batched of them. It writes this
  // without the lock: what the NI's thread keeps because it has seen `true` was kept before the host, which has to
  // write `false` first, enters the lock to push; and whoever enters it afterwards sees `false`, by the lock's own
  // order.
  bool is_together() const noexcept { return together_.load(std::memory_order_relaxed); }
  void set_together(bool together) noexcept {
    together_.store(together, std::memory_order_relaxed);
  }
  bool take_batched() noexcept { return std::exchange(batched_, false); }
  // The thread, before each rest: whether it has to watch what links have batched, for that has been asked for.
  bool watches() noexcept {
    Watch asked = Watch::asked;
    return watch_.compare_exchange_strong(asked, Watch::on, std::memory_order_relaxed) ||
           asked == Watch::on;
  }
  // With the NI's lock, and after everything that is kept has been written.
  void end_watch() noexcept {
    Watch on = Watch::on;
    watch_.compare_exchange_strong(on, Watch::off, std::memory_order_relaxed);
  }
  // Changes with every frame that may be kept, and so tells that the host is there.
  std::uint64_t streams() const noexcept { return streams_.load(std::memory_order_relaxed); }

  // --- The turn ---

  // Somebody drives the control program.
  bool is_driven() const noexcept { return driven_; }
  void set_driven(bool driven) noexcept { driven_ = driven; }
  // The links are armed; the thread sleeps, or is about to.
  bool is_armed() const noexcept { return armed_; }
  void set_armed(bool armed) noexcept { armed_ = armed; }
  [[gnu::noinline]] void wake_thread() noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  enum class Watch : std::uint8_t { never, off, asked, on };
  [[gnu::noinline]] void ask_for_watch() noexcept {
    watch_.store(Watch::asked, std::memory_order_relaxed);
    wake_thread();
  }

  std::atomic<bool> used_{false};
  std::atomic<std::uint32_t> attended_{0};
  std::atomic<Watch> watch_{Watch::never};
  std::atomic<std::uint64_t> streams_{0};
  std::atomic<bool> together_{false};
  bool left_over_ = false;
  bool batched_ = false;
  bool driven_ = false;
  bool armed_ = false;
  NiThread* thread_ = nullptr;
};

}  // namespace lfc
