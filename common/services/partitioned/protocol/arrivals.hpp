// Arrivals: the partitions of a receive that have come, for any division of the bytes by the sender.
//
//   Arrivals arrivals(partitions, bytes_of_each);
//   arrivals.restart();                                       // at each start
//   if (!arrivals.add(offset, length)) give_up();             // more than a partition has: protocol broken
//   if (arrivals.all(3, 5)) use_them();
//
// Each byte comes once, so a count of them suffices. Bytes beyond the last partition are not counted.
// Threads: the caller serialises.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lfc::partitioned {

class Arrivals {
 public:
  Arrivals(std::uint64_t partitions, std::uint64_t each) : each_(each), missing_(partitions, 0) {}

  std::uint64_t capacity() const noexcept { return missing_.size() * each_; }
  std::uint64_t partitions() const noexcept { return missing_.size(); }

  void restart() { std::fill(missing_.begin(), missing_.end(), each_); }

  bool add(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t end = std::min(offset + length, capacity());
    while (offset < end) {
      const std::uint64_t which = offset / each_;
      const std::uint64_t part = std::min(end, (which + 1) * each_) - offset;
      if (missing_[which] < part) return false;
      missing_[which] -= part;
      offset += part;
    }
    return true;
  }

  // Whether all bytes of partitions `first` to `last`, which must exist, have come.
  bool all(std::uint64_t first, std::uint64_t last) const noexcept {
    const auto begin = missing_.begin() + static_cast<std::ptrdiff_t>(first);
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(last - first) + 1,
                       [](std::uint64_t missing) { return missing == 0; });
  }

 private:
  const std::uint64_t each_;
  std::vector<std::uint64_t> missing_;  // bytes of each partition
};

}  // namespace lfc::partitioned
