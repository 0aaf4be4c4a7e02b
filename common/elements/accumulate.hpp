// Accumulate: MPI's predefined operations on its predefined types, applied to memory that other processes
// may be changing at the same time.
//
// Each location is changed by one mechanism, the same for a local peer, the target itself and its NI.
// Elements that the CPU cannot change at once (pairs, long double, large complex, unaligned) are always changed under
// the window's lock for them. Aligned words of 1, 2, 4 or 8 bytes are changed according to the caller's Hold. As long
// as any process may come without the lock, CPU atomics change them, with or without it. Otherwise plain vector loops
// do so under the lock.
//
//   if (!is_valid(Accumulate::sum, Element::f64)) return;
//   Cursor target(runs, 0, 1, 0);
//   accumulate({Accumulate::sum, Element::f64}, target, base, operands, old, bytes, {window_lock, Hold::shared});
//
// Source: MPI-3.1 11.3.4 (predefined operations and types), 11.7.1 (atomicity per element).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "elements/layout.hpp"
#include "lfc/elements.h"

namespace lfc {

// The numbers, which travel on the wire, are those of lfc/elements.h.
enum class Accumulate : std::uint8_t {
  sum = LFC_OP_SUM,
  product = LFC_OP_PROD,
  maximum = LFC_OP_MAX,
  minimum = LFC_OP_MIN,
  bit_and = LFC_OP_BAND,
  bit_or = LFC_OP_BOR,
  bit_xor = LFC_OP_BXOR,
  logical_and = LFC_OP_LAND,
  logical_or = LFC_OP_LOR,
  logical_xor = LFC_OP_LXOR,
  max_location = LFC_OP_MAXLOC,
  min_location = LFC_OP_MINLOC,
  replace = LFC_OP_REPLACE,
  no_op = LFC_OP_NO_OP,
  count_ = LFC_NO_OPERATION
};
enum class Element : std::uint8_t {
  i8 = LFC_ELEMENT_I8,
  u8 = LFC_ELEMENT_U8,
  i16 = LFC_ELEMENT_I16,
  u16 = LFC_ELEMENT_U16,
  i32 = LFC_ELEMENT_I32,
  u32 = LFC_ELEMENT_U32,
  i64 = LFC_ELEMENT_I64,
  u64 = LFC_ELEMENT_U64,
  f32 = LFC_ELEMENT_F32,
  f64 = LFC_ELEMENT_F64,
  f80 = LFC_ELEMENT_F80,
  c32 = LFC_ELEMENT_C32,
  c64 = LFC_ELEMENT_C64,
  c80 = LFC_ELEMENT_C80,
  pair_i16_i32 = LFC_ELEMENT_I16_I32,
  pair_i32_i32 = LFC_ELEMENT_I32_I32,
  pair_i64_i32 = LFC_ELEMENT_I64_I32,
  pair_f32_i32 = LFC_ELEMENT_F32_I32,
  pair_f64_i32 = LFC_ELEMENT_F64_I32,
  pair_f80_i32 = LFC_ELEMENT_F80_I32,
  pair_f32_f32 = LFC_ELEMENT_F32_F32,
  pair_f64_f64 = LFC_ELEMENT_F64_F64,
  count_ = LFC_NO_ELEMENT
};

// Packed bytes of an element; the largest has 32.
std::size_t size_of(Element element) noexcept;
inline constexpr std::size_t kMaxElement = 32;
inline constexpr std::size_t kHeldBytes = 32 * 1024;
// Whether MPI allows the operation on the type. Replace and no_op are allowed on all.
extern const std::array<std::uint16_t, static_cast<std::size_t>(Element::count_)>
    kAllowedOperations;  // a bit for each
inline bool is_valid(Accumulate operation, Element element) noexcept {
  return operation < Accumulate::count_ && element < Element::count_ &&
         (kAllowedOperations[static_cast<std::size_t>(element)] >>
              static_cast<unsigned>(operation) &
          1) != 0;
}

// The lock for elements that the CPU cannot change at once. Any process that maps it may hold it, for a few hundred
// nanoseconds.
class ElementLock {
 public:
  // False: another process holds it.
  bool try_lock(std::uint32_t owner) noexcept {
    std::uint32_t unowned = 0;
    return holder_.compare_exchange_strong(unowned, owner, std::memory_order_acquire);
  }
  void lock() noexcept {
    if (!try_lock(kSelf)) [[unlikely]]
      wait();
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  static const std::uint32_t kSelf;
  void wait() noexcept;

  std::atomic<std::uint32_t> holder_{0};  // process id
};

// How a call excludes other changes of its elements. elements/single_elements.hpp decides which of them is permitted.
enum class Hold : std::uint8_t {
  none,    // CPU atomics without the lock
  shared,  // CPU atomics under the lock: others may come without it
  alone,   // plain loads and stores under the lock: no other comes without it
};

struct ElementGuard {
  ElementGuard(ElementLock& lock_,
               Hold hold_ = Hold::none) noexcept  // NOLINT: it stands for the lock
      : lock(lock_), hold(hold_) {}
  ElementLock& lock;
  Hold hold;
};

struct Accumulation {
  Accumulate operation = Accumulate::replace;
  Element element = Element::u8;
};

// Combines `bytes` packed bytes at `operand` into the memory that `target` walks over, and stores
// the old values, packed, at `old` unless that is null. `operand` may be null for no_op.
// `bytes` is a multiple of the element's size. The combination is valid. The lock is held for kHeldBytes at a time.
void accumulate(Accumulation what, Cursor& target, std::byte* memory, const std::byte* operand,
                std::byte* old, std::uint64_t bytes, ElementGuard guard);

// Combines `count` contiguous elements in the same way; faster for one. True: the change was a fence as well. False:
// later loads of the caller may overtake its stores.
bool accumulate(Accumulation what, std::byte* target, const std::byte* operand, std::byte* old,
                std::uint64_t count, ElementGuard guard);

// Combines operands that `operands` walks over in the same way, if both sides are pairs at equal distances. False: they
// are not, or the hold does not suffice; nothing was done, and neither walk has moved.
bool accumulate_pairs(Accumulation what, Cursor& target, std::byte* memory, Cursor& operands,
                      const std::byte* origin, std::uint64_t bytes, ElementGuard guard);

// The layout of pairs in C, which MPI's predefined types of pairs have: nearly always with gaps.
struct PairLayout {
  std::size_t distance = 0;  // 0: no pair
  std::size_t used = 0;      // without the gap behind the last one
};
PairLayout layout_of(Element element) noexcept;
// Combines pairs in this layout on both sides. False: no such operation, and nothing was done.
bool accumulate_pairs(Accumulation what, std::byte* target, const std::byte* operands,
                      std::uint64_t count, ElementLock& lock);

// Compares the element at `target` with `compare`, byte by byte, and replaces it by `value` if
// they are equal; stores the old value at `old`. `size` is at most 16. The result is that of the accumulate above.
bool compare_and_swap(std::byte* target, const std::byte* compare, const std::byte* value,
                      std::byte* old, std::size_t size, ElementGuard guard);

}  // namespace lfc
