// Extents: size and displacement unit of each rank's window memory, and this process's own part.
//
//   Extents extents;
//   extents.set_own(base, bytes, dynamic);
//   extents.set_all(rank, ranks, size_of, unit_of);
//   std::uint64_t offset = 0;
//   if (!extents.holds(target, disp, begin, end, offset)) return MPI_ERR_RMA_RANGE;
//
// Invariants: the result of holds() or place() lies in the window for all arguments: no product or sum wraps
// (tests/unit/mpix_neon/extents_test.cpp).
// Threads: const after the window has been attached, but for the counters of own().
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/column.hpp"
#include "services/neon/protocol/exposure.hpp"
#include "services/neon/protocol/frame.hpp"

namespace lfc::neon {

class Extents {
 public:
  // Without a window, or in a dynamic one, displacements are addresses.
  void set_own(std::byte* base, std::uint64_t size, bool dynamic) noexcept {
    own_.base = base;
    own_.size = size;
    dynamic_ = dynamic;
  }
  // This process is `rank` of `ranks`. `size_of(rank)` and `unit_of(rank)` return the size and displacement unit of a
  // rank's window memory, in bytes.
  template <class SizeOf, class UnitOf>
  void set_all(Rank rank, Rank ranks, SizeOf size_of, UnitOf unit_of) {
    rank_ = rank;
    ranks_ = ranks;
    sizes_.set(ranks, size_of);
    units_.set(ranks, unit_of);
  }

  Rank rank() const noexcept { return rank_; }
  Rank ranks() const noexcept { return ranks_; }
  bool has(std::int64_t rank) const noexcept { return rank >= 0 && rank < ranks_; }
  bool dynamic() const noexcept { return dynamic_; }
  Exposure& own() noexcept { return own_; }

  // This process's memory at a displacement; null: not all of it in the window.
  std::byte* place(std::ptrdiff_t disp, std::uint64_t size) const noexcept {
    if (dynamic_) return reinterpret_cast<std::byte*>(disp);
    std::uint64_t offset = 0;
    if (disp < 0 || !offset_of(rank_, disp, offset)) return nullptr;
    return own_.at(offset, 0, size);
  }
  // Whether the bytes from `begin` to `end`, relative to a displacement, lie in the target's window, and where that is.
  bool holds(Rank target, std::ptrdiff_t disp, std::int64_t begin, std::int64_t end,
             std::uint64_t& offset) const noexcept {
    if (disp < 0 || !offset_of(target, disp, offset) || offset > sizes_[target]) return false;
    const auto at = static_cast<std::int64_t>(offset);
    return begin == end ||
           (at + begin >= 0 && static_cast<std::uint64_t>(at + end) <= sizes_[target]);
  }

 private:
  bool offset_of(Rank rank, std::ptrdiff_t disp, std::uint64_t& offset) const noexcept {
    return !__builtin_mul_overflow(static_cast<std::uint64_t>(disp),
                                   static_cast<std::uint64_t>(units_[rank]), &offset);
  }

  Exposure own_;
  Column<std::uint64_t> sizes_;   // by rank
  Column<std::ptrdiff_t> units_;  // by rank
  Rank rank_ = 0;
  Rank ranks_ = 0;
  bool dynamic_ = false;
};

}  // namespace lfc::neon
