#include "services/windows/protocol/view.hpp"

namespace lfc {

bool View::bounds(Bounds& out) const noexcept {
  if (!bounds_of(runs, out)) return false;
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(extent, static_cast<std::int64_t>(count - 1), &reach)) return false;
  std::int64_t& moved = reach < 0 ? out.low : out.high;
  return !__builtin_add_overflow(moved, reach, &moved) &&
         !__builtin_add_overflow(out.low, offset, &out.low) &&
         !__builtin_add_overflow(out.high, offset, &out.high);
}

}  // namespace lfc
