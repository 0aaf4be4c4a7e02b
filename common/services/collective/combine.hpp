// Combine: the predefined reductions on the predefined numbers, as plain functions, so that the
// network interface can combine without its host.
//
//   if (const Combine combine = find_combine(CombineOp::sum, CombineType::float64))
//     combine(a, b, out, count);                         // out[i] = a[i] + b[i]; out may be a or b
//
// The order is fixed by the caller; all of them commute. Signed overflow wraps, as the machine does.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc {

enum class CombineOp : std::uint8_t {
  max,
  min,
  sum,
  prod,
  land,
  band,
  lor,
  bor,
  lxor,
  bxor,
  last_ = bxor
};
enum class CombineType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  last_ = float64
};

using Combine = void (*)(const void* a, const void* b, void* out, std::size_t count);

// Null: not defined (bits of a float), or not one of ours.
Combine find_combine(CombineOp op, CombineType type) noexcept;
std::size_t combine_size(CombineType type) noexcept;

}  // namespace lfc
