// Readiness: which partitions of a send are ready, and which of their bytes have still to go.
//
//   Readiness readiness(partitions, bytes_of_each);
//   readiness.restart();                                      // at each start
//   switch (readiness.mark(3, 5)) { ... }                     // any thread
//   while (readiness.next(most, piece)) send(piece), readiness.pass(piece.length);
//   if (readiness.all_sent()) finish();
//
// Local peers leave together, whatever the order in which they became ready.
// Threads: mark() and the questions by any, at the same time; the others by one at a time, restart() not beside mark().
// What a thread has written before mark() whoever finds the partition by next() reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lfc::partitioned {

struct Bytes {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

enum class Marked : std::uint8_t {
  refused,  // they do not exist, or one was ready before
  some,
  last,  // now all are ready; said to one caller
};

class Readiness {
 public:
  Readiness(std::uint64_t partitions, std::uint64_t each)
      : partitions_(partitions), each_(each), ready_(words()), sent_(words()) {}

  std::uint64_t total() const noexcept { return partitions_ * each_; }
  bool all_ready() const noexcept { return count_.load(std::memory_order_acquire) == partitions_; }
  // Bytes that are ready and have not gone, about.
  std::uint64_t pending() const noexcept {
    return (count_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_relaxed)) *
           each_;
  }
  bool all_sent() const noexcept {
    return each_ == 0 ||
           (taken_.load(std::memory_order_relaxed) == partitions_ && run_.length == 0);
  }

  void restart() noexcept {
    for (std::atomic<std::uint64_t>& word : ready_) word.store(0, std::memory_order_relaxed);
    std::fill(sent_.begin(), sent_.end(), 0);
    count_.store(0, std::memory_order_relaxed);
    taken_.store(0, std::memory_order_relaxed);
    run_ = {};
    from_ = 0;
  }

  // Partitions first to last, both included.
  Marked mark(std::uint64_t first, std::uint64_t last) noexcept {
    if (first > last || last >= partitions_) return Marked::refused;
    for (std::uint64_t word = first / kBits; word <= last / kBits; ++word)
      if ((ready_[word].load(std::memory_order_relaxed) & mask(word, first, last)) != 0)
        return Marked::refused;
    std::uint64_t fresh = 0;
    for (std::uint64_t word = first / kBits; word <= last / kBits; ++word) {
      const std::uint64_t bits = mask(word, first, last);
      // Released for next(), which acquires.
      const std::uint64_t before = ready_[word].fetch_or(bits, std::memory_order_release);
      fresh += static_cast<std::uint64_t>(std::popcount(bits & ~before));
    }
    // Of all that were marked before; for all_ready().
    const std::uint64_t count = count_.fetch_add(fresh, std::memory_order_acq_rel) + fresh;
    if (fresh != last - first + 1) return Marked::refused;
    return count == partitions_ ? Marked::last : Marked::some;
  }

  // The next bytes that lie together, at most so many. False: there are none.
  bool next(std::uint64_t most, Bytes& out) noexcept {
    if (run_.length == 0 && !take()) return false;
    out = {run_.offset, std::min(run_.length, most)};
    return true;
  }
  // So many bytes of what next() has said have gone.
  void pass(std::uint64_t length) noexcept {
    run_.offset += length;
    run_.length -= length;
  }

 private:
  static constexpr std::uint64_t kBits = 64;

  std::size_t words() const noexcept { return (partitions_ + kBits - 1) / kBits; }
  static std::uint64_t mask(std::uint64_t word, std::uint64_t first, std::uint64_t last) noexcept {
    const std::uint64_t begin = word * kBits;
    std::uint64_t bits = ~std::uint64_t{0};
    if (first > begin) bits &= ~std::uint64_t{0} << (first - begin);
    if (last < begin + kBits - 1) bits &= ~std::uint64_t{0} >> (begin + kBits - 1 - last);
    return bits;
  }
  std::uint64_t waiting(std::size_t word) const noexcept {
    return ready_[word].load(std::memory_order_acquire) & ~sent_[word];
  }

  // The first run of partitions that are ready and have not gone. Of those without bytes there is none.
  bool take() noexcept {
    while (from_ < ready_.size() && sent_[from_] == whole(from_)) ++from_;
    std::size_t word = from_;
    while (word < ready_.size() && waiting(word) == 0) ++word;
    if (word == ready_.size()) return false;
    std::uint64_t which =
        word * kBits + static_cast<std::uint64_t>(std::countr_zero(waiting(word)));
    run_.offset = which * each_;
    std::uint64_t number = 0;
    while (word < ready_.size()) {
      const std::uint64_t shifted = waiting(word) >> (which % kBits);
      const auto ones = static_cast<std::uint64_t>(std::countr_one(shifted));
      if (ones == 0) break;
      sent_[word] |= mask(word, which, which + ones - 1);
      number += ones;
      which += ones;
      if (which % kBits != 0) break;
      ++word;
    }
    taken_.fetch_add(number, std::memory_order_relaxed);
    run_.length = number * each_;
    return run_.length != 0;
  }
  std::uint64_t whole(std::size_t word) const noexcept {
    return mask(word, word * kBits, partitions_ - 1);
  }

  const std::uint64_t partitions_;
  const std::uint64_t each_;
  std::vector<std::atomic<std::uint64_t>> ready_;  // a bit for each partition
  std::vector<std::uint64_t> sent_;                // likewise, or in run_
  std::atomic<std::uint64_t> count_ = 0;           // that are ready
  std::atomic<std::uint64_t> taken_ = 0;           // that have gone, or are in run_
  Bytes run_;                                      // what is being sent
  std::size_t from_ = 0;                           // no word before it has any left
};

}  // namespace lfc::partitioned
