// View: a piece of local or remote memory as MPI's calls describe it. Also the status that calls on windows return.
//
//   const Run run{0, 8, 16, 100};                              // every other word of 200
//   const View there{nullptr, displacement, {&run, 1}, 0, 1, 800};
//   Bounds bounds;
//   if (!there.bounds(bounds) || bounds.low < 0) return WindowStatus::range;
//
// Offsets, extents and sizes are bytes. Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elements/layout.hpp"
#include "lfc/numbers.h"

namespace lfc {

enum class WindowStatus : std::uint8_t {
  ok = LFC_RMA_OK,
  sync = LFC_RMA_SYNC,
  range = LFC_RMA_RANGE,
  truncated = LFC_RMA_TRUNCATED,
  lost = LFC_RMA_LOST,
  invalid = LFC_RMA_INVALID,
  memory = LFC_RMA_NO_MEMORY,
};

enum class Flavor : std::uint8_t {
  create = LFC_RMA_CREATE,
  allocate = LFC_RMA_ALLOCATE,
  shared = LFC_RMA_SHARED,
  dynamic = LFC_RMA_DYNAMIC
};

// `count` elements of some runs.
struct View {
  std::byte* base = nullptr;  // local memory; not used for the target's
  std::int64_t offset = 0;    // bytes, added to each run's
  std::span<const Run> runs;
  std::int64_t extent = 0;
  std::uint64_t count = 0;
  std::uint64_t size = 0;  // packed bytes of one element

  std::uint64_t bytes() const noexcept { return size * count; }
  Cursor cursor() const noexcept { return {runs, extent, count, offset}; }
  // Returns whether it is one piece, at any offset.
  bool contiguous() const noexcept {
    return runs.size() == 1 && runs[0].repeat == 1 &&
           (count == 1 || static_cast<std::uint64_t>(extent) == size);
  }
  // The offset of its first byte from `base`. Only for a contiguous view.
  std::int64_t begin() const noexcept { return offset + runs[0].offset; }
  // Computes the range from the first byte to the last. False: 64 bits do not hold it.
  bool bounds(Bounds& out) const noexcept;
};

}  // namespace lfc
