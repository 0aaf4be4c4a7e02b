// WaitPolicy: how a rank waits for a collective. It polls its local peers' flags, serves its NI, calls Open MPI's
// progress now and then, and yields its processor when it waits for long.
//
//   WaitPolicy wait_policy({.crowded = false, .progress = progress, .progress_nowait = progress_nowait});
//   wait_policy.until(operation, communicator, [] {});           // the last is called now and then, to look for losses
//
// Threads: any; one object for all.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/every_moment.hpp"
#include "services/collective/communicator.hpp"

namespace lfc {

class WaitPolicy {
 public:
  struct Options {
    bool crowded = false;         // more ranks than processors: a waiting rank yields
    int (*progress)() = nullptr;  // Open MPI's progress, for a rank that waits
    int (*progress_nowait)() =
        nullptr;  // the same for a rank that does not wait: keeps the processor. Held by tests/progress/keep_turn.c
  };
  explicit WaitPolicy(const Options& options) noexcept : options_(options) {}

  // Waits until the operation has finished, and calls `look` now and then meanwhile.
  template <class Look>
  void until(const CollOperation& operation, Communicator& communicator, Look look);
  // Number of polls for the other ranks before the rank waits.
  unsigned looks() const noexcept { return options_.crowded ? 0 : kSpins; }
  // Counts a call that did not have to wait, and calls progress_nowait(): so Open MPI's progress runs at the latest in
  // the first call a moment after its last run, however long the rank computes between calls. Held by
  // tests/progress/late.c.
  void visit() {
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    progress_nowait();
  }
  // Runs options.progress_nowait if a moment has passed since its last run.
  void progress_nowait() {
    if (moment_.has_passed()) options_.progress_nowait();
  }
  std::uint64_t visits() const noexcept { return visits_.load(std::memory_order_relaxed); }

 private:
  // Polls of one flag in a round of waiting; rounds without events between two looks if crowded.
  static constexpr unsigned kSpins = 128;
  static constexpr unsigned kClockSpins = 1024;

  static bool flag_comes(const CollOperation& operation) noexcept;
  void give_way(unsigned idle, bool network) const;

  const Options options_;
  std::atomic<std::uint64_t> visits_ = 0;
  EveryMoment moment_;
};

template <class Look>
void WaitPolicy::until(const CollOperation& operation, Communicator& communicator, Look look) {
  const bool network = communicator.members().nodes() > 1;
  unsigned idle = 0;
  while (!operation.finished.load(std::memory_order_acquire)) {
    if (communicator.advance()) {
      idle = 0;
      continue;
    }
    ++idle;
    if (!options_.crowded && flag_comes(operation)) continue;
    give_way(idle, network);
    if (idle % (options_.crowded ? kSpins : kClockSpins) == 0) look();
  }
  progress_nowait();  // the operation may have ended in submit(), without a wait
}

}  // namespace lfc
