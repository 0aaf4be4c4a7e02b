#include "services/neon/protocol/arrivals.hpp"

#include <algorithm>
#include <iterator>

namespace lfc::neon {

bool Arrivals::add_apart(std::uint32_t number) {
  if (number <= whole_) return false;
  const auto at =
      std::lower_bound(apart_.begin(), apart_.end(), number,
                       [](const Range& range, std::uint32_t value) { return range.last < value; });
  if (at != apart_.end() && at->first <= number) return false;
  std::uint32_t& last_before = at == apart_.begin() ? whole_ : std::prev(at)->last;
  const bool behind = last_before + 1 == number;
  const bool before = at != apart_.end() && at->first == number + 1;
  if (behind && before) {
    last_before = at->last;
    apart_.erase(at);
  } else if (behind) {
    last_before = number;
  } else if (before) {
    at->first = number;
  } else if (apart_.size() == kMaxGaps) {
    return false;
  } else {
    apart_.insert(at, {number, number});
  }
  return true;
}

}  // namespace lfc::neon
