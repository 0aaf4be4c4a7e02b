// Accumulate: MPI's predefined operations on its predefined types, applied to memory that others
// may be changing at the same time.
//
// Elements of 1, 2, 4 or 8 bytes that lie aligned are changed with CPU atomics, one by one; all
// others (pairs, long double, complex, unaligned) under the window's lock for them, which is
// therefore one mechanism for each location. Neighbours on the host, the target itself and its NI
// all come here, so that accumulates of all kinds are coherent with each other.
//
//   if (!is_valid(Accumulate::sum, Element::f64)) return error;
//   Cursor target(runs, 0, 1, 0);
//   accumulate({Accumulate::sum, Element::f64}, target, base, operands, old, bytes, window_lock);
//
// Source: MPI-3.1 11.3.4 (what is predefined), 11.7.1 (atomicity per element).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/layout.hpp"

namespace lfc {

// On the wire.
enum class Accumulate : std::uint8_t {
  sum,
  product,
  maximum,
  minimum,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor,
  max_location,
  min_location,
  replace,
  no_op,  // reads only
  count_
};

// On the wire. What the bytes of one element mean; the pairs are {value, index} as packed.
enum class Element : std::uint8_t {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64,
  f80,  // long double, 16 bytes
  c32,  // complex of two f32
  c64,
  c80,
  pair_i16_i32,
  pair_i32_i32,
  pair_i64_i32,
  pair_f32_i32,
  pair_f64_i32,
  pair_f80_i32,
  pair_f32_f32,
  pair_f64_f64,
  count_
};

// Packed bytes of an element; the largest has 32.
std::size_t size_of(Element element) noexcept;
inline constexpr std::size_t kMaxElement = 32;
// Whether MPI allows the operation on the type. Replace and no_op are allowed on all.
bool is_valid(Accumulate operation, Element element) noexcept;

// Taken for elements that the CPU cannot change at once. Held for a few hundred nanoseconds, by any
// process that maps it.
class ElementLock {
 public:
  // False: someone else holds it.
  bool try_lock(std::uint32_t owner) noexcept {
    std::uint32_t nobody = 0;
    return holder_.compare_exchange_strong(nobody, owner, std::memory_order_acquire);
  }
  void lock() noexcept;
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> holder_{0};  // process id
};

struct Accumulation {
  Accumulate operation = Accumulate::replace;
  Element element = Element::u8;
};

// Combines `bytes` packed bytes at `operand` into the memory that `target` walks over, and stores
// what was there before, packed, at `old` unless that is null. `operand` may be null for no_op.
// `bytes` is a multiple of the element's size. The combination is valid.
void accumulate(Accumulation what, Cursor& target, std::byte* memory, const std::byte* operand,
                std::byte* old, std::uint64_t bytes, ElementLock& lock);

// The same for `count` elements that follow each other; faster for one.
void accumulate(Accumulation what, std::byte* target, const std::byte* operand, std::byte* old,
                std::uint64_t count, ElementLock& lock);

// Compares the element at `target` with `compare`, byte by byte, and replaces it by `value` when
// they are equal; stores what was there at `old`. `size` is at most 16.
void compare_and_swap(std::byte* target, const std::byte* compare, const std::byte* value,
                      std::byte* old, std::size_t size, ElementLock& lock);

}  // namespace lfc
