// Agreement: a word that all ranks of a job on one node combine by AND in shared memory, once. Waiting ranks sleep.
//
// Either all ranks get the result, or none does: `arrived_` counts the ranks, and a rank that gives up marks it in the
// atomic operation that finds the count incomplete. Ranks that arrive later find the mark. So no choice of the time at
// which a rank gives up makes ranks decide differently. Held by agreement_test.cpp.
//
//   std::optional<std::uint32_t> all = agreement.combine(word, ranks, is_hopeless);    // in memory that was zero
//   if (!all) ...                                                       // at all ranks: combine by other means
//
// Threads and processes: any. Each rank calls combine() once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace lfc {

class Agreement {
 public:
  // The longest sleep of a rank, after which it looks for ranks that cannot arrive. Signals do not shorten it.
  static constexpr std::chrono::milliseconds kSleep{100};
  // Sleeps in a row without an arrival after which a rank gives up.
  static constexpr unsigned kMostSleeps = 50;

  // Waits for all `ranks`, and returns the AND of their words. Calls `is_hopeless` after each sleep in which no rank
  // arrived; it must not throw, since this rank has been counted. nullopt: a rank has given up, because `is_hopeless`
  // returned true, or because it has slept kMostSleeps times. So one late rank suffices.
  std::optional<std::uint32_t> combine(std::uint32_t word, std::uint32_t ranks,
                                       const std::function<bool()>& is_hopeless,
                                       std::chrono::nanoseconds sleep = kSleep);
  // Marks that this process arrives at no agreement, in the agreement of its own arena.
  void refuse() noexcept { arrived_.fetch_or(kGivenUp, std::memory_order_relaxed); }
  bool is_given_up() const noexcept {
    return (arrived_.load(std::memory_order_relaxed) & kGivenUp) != 0;
  }

 private:
  static constexpr std::uint32_t kGivenUp = std::uint32_t{1} << 31;

  void sleep_while(std::uint32_t arrived, std::chrono::nanoseconds span) const noexcept;
  void wake_all() noexcept;

  std::atomic<std::uint32_t> arrived_;  // ranks, and kGivenUp
  std::atomic<std::uint32_t> missing_;  // bits that some rank's word does not have
};

}  // namespace lfc
