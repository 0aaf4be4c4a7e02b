// Activity: whether the control program has work, and whether its thread sleeps. Turn (engine/turn.hpp) reads it; each
// part that leaves work behind sets it.
//
//   activity.note_use();       // communication begins: from now on links are polled in every pass
//   activity.leave_over();     // no arrival will cause this work: the next pass has to retry it
//   if (activity.take_left_over()) retry();                   // Turn
//   switch (activity.may_batch(stream)) ...                    // a link: may a frame wait for the next one?
//
// Invariants: work left over while the thread sleeps with armed links wakes it. A sender gets `watched`
// only while the thread examines what links have batched every kBatchedFor
// (tests/unit/engine/ni_thread/streams_test.cpp).
// Threads: under the NI's lock, except is_unused(), note_use(),
// attendance, the watch, and set_together().
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "link/link.hpp"

namespace lfc {

class NiThread;

class Activity {
 public:
  // `watches`: the thread can watch the frames that links have batched.
  void set_thread(NiThread* thread, bool watches) noexcept {
    thread_ = thread;
    if (watches) watch_.store(Watch::off, std::memory_order_relaxed);
  }

  void note_use() noexcept { used_.store(true, std::memory_order_relaxed); }
  // No peer has communicated yet, and no service has work.
  bool is_unused() const noexcept { return !used_.load(std::memory_order_relaxed); }

  // While some thread of the host polls without a pause, the NI's thread need not do its work, however seldom the
  // host's thread gets a core. With more ranks than cores it would only take the core from the rank for which all wait.
  // Any number of threads at a time.
  void begin_polling() noexcept { polling_threads_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { polling_threads_.fetch_sub(1, std::memory_order_relaxed); }
  bool host_is_polling() const noexcept {
    return polling_threads_.load(std::memory_order_relaxed) != 0;
  }

  void leave_over() noexcept {
    left_over_ = true;
    if (armed_ && !driven_) [[unlikely]]
      wake_thread();
  }
  bool left_over() const noexcept { return left_over_; }
  // Work is left over, or links batch frames until the end of this turn.
  bool has_afterwork() const noexcept { return left_over_ || batched_; }
  bool take_left_over() noexcept { return left_over_ && std::exchange(left_over_, false); }

  // --- Frames that links batch ---

  Batch may_batch(bool stream) noexcept {
    if (driven_ || is_together()) {
      batched_ = true;
      return Batch::turn;
    }
    const Watch watch = watch_.load(std::memory_order_relaxed);
    if (watch == Watch::never) return Batch::never;
    streams_.store(streams_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (watch == Watch::on) return Batch::watched;
    if (stream && watch == Watch::off) request_watch();
    return Batch::no;
  }
  // Set by one thread of the host, which flushes at the end of a few sends the frames that links have batched for them.
  // It is written without the lock. The host writes `false` first, and then enters the lock to flush. Frames that the
  // NI's thread batched because it saw `true` were batched before that entry. A thread that enters the lock afterwards
  // sees `false`, by the lock's own order.
  bool is_together() const noexcept { return together_.load(std::memory_order_relaxed); }
  void set_together(bool together) noexcept {
    together_.store(together, std::memory_order_relaxed);
  }
  bool take_batched() noexcept { return std::exchange(batched_, false); }
  // Called by the thread before each rest: whether a watch of the batched frames was requested.
  bool watches() noexcept {
    Watch requested = Watch::requested;
    return watch_.compare_exchange_strong(requested, Watch::on, std::memory_order_relaxed) ||
           requested == Watch::on;
  }
  // With the NI's lock held, after all batched frames have been written.
  void end_watch() noexcept {
    Watch on = Watch::on;
    watch_.compare_exchange_strong(on, Watch::off, std::memory_order_relaxed);
  }
  // Changes with every frame that may be batched, and so shows that the host is present.
  std::uint64_t streams() const noexcept { return streams_.load(std::memory_order_relaxed); }

  // --- The turn ---

  // Some thread drives the control program.
  bool is_driven() const noexcept { return driven_; }
  void set_driven(bool driven) noexcept { driven_ = driven; }
  // The links are armed; the thread sleeps, or is about to.
  bool is_armed() const noexcept { return armed_; }
  void set_armed(bool armed) noexcept { armed_ = armed; }
  [[gnu::noinline]] void wake_thread() noexcept;
  // Null: there is none.
  NiThread* thread() const noexcept { return thread_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  enum class Watch : std::uint8_t { never, off, requested, on };
  [[gnu::noinline]] void request_watch() noexcept {
    watch_.store(Watch::requested, std::memory_order_relaxed);
    wake_thread();
  }

  std::atomic<bool> used_{false};
  std::atomic<std::uint32_t> polling_threads_{0};
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
