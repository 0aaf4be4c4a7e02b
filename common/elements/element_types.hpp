// Element types: the C++ types of the elements of accumulates, and the result of each operation on two of them.
//
//   with_type(Element::f64, [&](auto value) { using T = decltype(value); ... });
//   Packed<T>::store(target, combine(Accumulate::sum, Packed<T>::load(target), Packed<T>::load(operand)));
//
// Internal to elements/accumulate.cpp and elements/combine.cpp. Values only; threads: any.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "elements/accumulate.hpp"

namespace lfc {

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class T>
inline constexpr bool is_pair = false;
template <class V, class I>
inline constexpr bool is_pair<Pair<V, I>> = true;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

// Calls visit(T{}) with the C++ type of the element.
template <class Visit>
constexpr decltype(auto) with_type(Element element, Visit visit) {
  switch (element) {
    case Element::i8: return visit(std::int8_t{});
    case Element::u8: return visit(std::uint8_t{});
    case Element::i16: return visit(std::int16_t{});
    case Element::u16: return visit(std::uint16_t{});
    case Element::i32: return visit(std::int32_t{});
    case Element::u32: return visit(std::uint32_t{});
    case Element::i64: return visit(std::int64_t{});
    case Element::u64: return visit(std::uint64_t{});
    case Element::f32: return visit(float{});
    case Element::f64: return visit(double{});
    case Element::f80: return visit(static_cast<long double>(0));
    case Element::c32: return visit(std::complex<float>{});
    case Element::c64: return visit(std::complex<double>{});
    case Element::c80: return visit(std::complex<long double>{});
    case Element::pair_i16_i32: return visit(Pair<std::int16_t, std::int32_t>{});
    case Element::pair_i32_i32: return visit(Pair<std::int32_t, std::int32_t>{});
    case Element::pair_i64_i32: return visit(Pair<std::int64_t, std::int32_t>{});
    case Element::pair_f32_i32: return visit(Pair<float, std::int32_t>{});
    case Element::pair_f64_i32: return visit(Pair<double, std::int32_t>{});
    case Element::pair_f80_i32: return visit(Pair<long double, std::int32_t>{});
    case Element::pair_f32_f32: return visit(Pair<float, float>{});
    case Element::pair_f64_f64: return visit(Pair<double, double>{});
    case Element::count_: break;
  }
  return visit(std::uint8_t{});
}

// Packed form: a pair's index follows its value without a hole.
template <class T>
struct Packed {
  static constexpr std::size_t size = sizeof(T);
  static T load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(std::byte* to, const T& value) noexcept {
    std::memcpy(to, &value, sizeof value);
  }
};
// Not by copies of bytes. Only ten bytes of a long double have a meaning, and a copy of sixteen would wait for the
// store of the ten. The compiler does not use instructions for numbers to compare values that it takes for integers.
template <class T>
requires std::is_floating_point_v<T>
struct Packed<T> {
  using Anywhere [[gnu::may_alias, gnu::aligned(1)]] = T;
  static constexpr std::size_t size = sizeof(T);
  static T load(const std::byte* from) noexcept { return *reinterpret_cast<const Anywhere*>(from); }
  static void store(std::byte* to, T value) noexcept { *reinterpret_cast<Anywhere*>(to) = value; }
};
template <class T>
struct Packed<std::complex<T>> {
  static constexpr std::size_t size = sizeof(std::complex<T>);
  static std::complex<T> load(const std::byte* from) noexcept {
    return {Packed<T>::load(from), Packed<T>::load(from + sizeof(T))};
  }
  static void store(std::byte* to, const std::complex<T>& value) noexcept {
    Packed<T>::store(to, value.real());
    Packed<T>::store(to + sizeof(T), value.imag());
  }
};
template <class V, class I>
struct Packed<Pair<V, I>> {
  static constexpr std::size_t value_size = sizeof(V);
  static constexpr std::size_t size = sizeof(V) + sizeof(I);
  static Pair<V, I> load(const std::byte* from, std::int64_t index = sizeof(V)) noexcept {
    return {Packed<V>::load(from), Packed<I>::load(from + index)};
  }
  static void store(std::byte* to, const Pair<V, I>& pair,
                    std::int64_t index = sizeof(V)) noexcept {
    Packed<V>::store(to, pair.value);
    Packed<I>::store(to + index, pair.index);
  }
};

constexpr bool is_bitwise(Accumulate op) noexcept {
  return op == Accumulate::bit_and || op == Accumulate::bit_or || op == Accumulate::bit_xor;
}
constexpr bool is_logical(Accumulate op) noexcept {
  return op == Accumulate::logical_and || op == Accumulate::logical_or ||
         op == Accumulate::logical_xor;
}
constexpr bool is_location(Accumulate op) noexcept {
  return op == Accumulate::max_location || op == Accumulate::min_location;
}
constexpr bool is_transfer(Accumulate op) noexcept {
  return op == Accumulate::replace || op == Accumulate::no_op;
}

template <class T>
constexpr bool allows(Accumulate op) noexcept {
  if (is_transfer(op)) return true;
  if constexpr (is_pair<T>) return is_location(op);
  if (is_location(op)) return false;
  if constexpr (is_complex<T>) return op == Accumulate::sum || op == Accumulate::product;
  if (is_bitwise(op) || is_logical(op)) return std::is_integral_v<T>;
  return true;
}

// Signed sums overflow as in hardware; in C++ that would be undefined.
template <class T>
T wrapping(Accumulate op, T a, T b) noexcept {
  using Unsigned =
      std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;
  const Unsigned x = static_cast<std::make_unsigned_t<T>>(a);
  const Unsigned y = static_cast<std::make_unsigned_t<T>>(b);
  return static_cast<T>(op == Accumulate::sum ? x + y : x * y);
}

template <class T>
T combine(Accumulate op, const T& old, const T& operand) noexcept {
  if (op == Accumulate::replace) return operand;
  if (op == Accumulate::no_op) return old;
  if constexpr (is_pair<T>) {
    const bool better =
        op == Accumulate::max_location ? operand.value > old.value : operand.value < old.value;
    if (better) return operand;
    if (operand.value == old.value) return {old.value, std::min(old.index, operand.index)};
    return old;
  } else if constexpr (is_complex<T>) {
    return op == Accumulate::sum ? old + operand : old * operand;
  } else {
    switch (op) {
      // In this order a NaN gives the result that Open MPI's own components give.
      case Accumulate::maximum: return old > operand ? old : operand;
      case Accumulate::minimum: return old < operand ? old : operand;
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      switch (op) {
        case Accumulate::bit_and: return static_cast<T>(old & operand);
        case Accumulate::bit_or: return static_cast<T>(old | operand);
        case Accumulate::bit_xor: return static_cast<T>(old ^ operand);
        case Accumulate::logical_and: return static_cast<T>(old != 0 && operand != 0);
        case Accumulate::logical_or: return static_cast<T>(old != 0 || operand != 0);
        case Accumulate::logical_xor: return static_cast<T>((old != 0) != (operand != 0));
        default: return wrapping(op, old, operand);
      }
    } else {
      return op == Accumulate::sum ? old + operand : old * operand;
    }
  }
}

}  // namespace lfc
