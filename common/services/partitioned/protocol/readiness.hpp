// Readiness: the partitions of a send that are ready, and their bytes that have still to be sent.
//
//   Readiness readiness(partitions, bytes_of_each);
//   readiness.restart();                                      // at each start
//   switch (readiness.mark(3, 5)) { ... }                     // any thread
//   while (readiness.next(most, piece)) send(piece), readiness.pass(piece.length);
//   if (readiness.all_sent()) finish();
//
// Adjacent partitions leave together, even if they did not become ready in their order.
// Threads: mark(), all_ready(), pending() and all_sent() by any, at the same time; the others by one at a time, and
// restart() not beside mark(). The thread that gets a partition by next() sees all writes before its mark().
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
  last,  // now all are ready; only one caller gets this
};

class Readiness {
 public:
  Readiness(std::uint64_t partitions, std::uint64_t each)
      : partitions_(partitions), each_(each), ready_(words()), sent_(words()) {}

  std::uint64_t total() const noexcept { return partitions_ * each_; }
  bool all_ready() const noexcept { return count_.load(std::memory_order_acquire) == partitions_; }
  // Returns about how many bytes are ready and not sent.
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

  // Marks partitions `first` to `last`, both included.
  Marked mark(std::uint64_t first, std::uint64_t last) noexcept {
    if (first > last || last >= partitions_) return Marked::refused;
    for (std::uint64_t word = first / kBits; word <= last / kBits; ++word)
      if ((ready_[word].load(std::memory_order_relaxed) & mask(word, first, last)) != 0)
        return Marked::refused;
    std::uint64_t fresh = 0;
    for (std::uint64_t word = first / kBits; word <= last / kBits; ++word) {
      const std::uint64_t bits = mask(word, first, last);
      // Pairs with the acquire in waiting(), for next(): the bytes of the partitions are visible there.
      const std::uint64_t before = ready_[word].fetch_or(bits, std::memory_order_release);
      fresh += static_cast<std::uint64_t>(std::popcount(bits & ~before));
    }
    // Pairs with the acquire in all_ready(): all marks of the epoch are visible there.
    const std::uint64_t count = count_.fetch_add(fresh, std::memory_order_acq_rel) + fresh;
    if (fresh != last - first + 1) return Marked::refused;
    return count == partitions_ ? Marked::last : Marked::some;
  }

  // Returns in `out` the next contiguous bytes, at most `most`. False: there are none.
  bool next(std::uint64_t most, Bytes& out) noexcept {
    if (run_.length == 0 && !take()) return false;
    out = {run_.offset, std::min(run_.length, most)};
    return true;
  }
  // Notes that `length` of the bytes that next() returned have been sent.
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

  // Takes the first run of partitions that are ready and not sent. False: none, or the partitions have no bytes.
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
  std::vector<std::uint64_t> sent_;  // a bit for each partition that has been sent, or is in run_
  std::atomic<std::uint64_t> count_ = 0;  // partitions that are ready
  std::atomic<std::uint64_t> taken_ = 0;  // partitions that have been sent, or are in run_
  Bytes run_;                             // bytes that are being sent
  std::size_t from_ = 0;                  // no word before it has any left
};

}  // namespace lfc::partitioned
