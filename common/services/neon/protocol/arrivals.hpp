// Arrivals: the frames of a generation that are in place, by their numbers, which begin with 1.
//
//   if (!arrivals.add(header.count)) return false;   // a number that no honest origin sends
//   if (arrivals.whole() >= 3) ...                   // frames 1, 2 and 3 are in place
//
// Memory: 8 bytes for each gap in the numbers, of which there are at most kMaxGaps. A link that keeps the order causes
// none; a get that has not been served causes one.
// Held by: tests/unit/services/neon/confirmation_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lfc::neon {

inline constexpr std::size_t kMaxGaps = 1 << 16;

class Arrivals {
 public:
  // False: 0, a number that has been added already, or too many gaps.
  bool add(std::uint32_t number) {
    if (number != whole_ + 1 || !apart_.empty()) return add_apart(number);
    whole_ = number;
    return true;
  }
  // All frames up to this number are in place, and the next one is not.
  std::uint32_t whole() const noexcept { return whole_; }
  // The largest number of a frame in place.
  std::uint32_t last() const noexcept { return apart_.empty() ? whole_ : apart_.back().last; }
  void clear() noexcept {
    whole_ = 0;
    apart_.clear();
  }

 private:
  struct Range {
    std::uint32_t first, last;
  };
  bool add_apart(std::uint32_t number);

  std::uint32_t whole_ = 0;
  std::vector<Range> apart_;  // behind a gap each, in order
};

}  // namespace lfc::neon
