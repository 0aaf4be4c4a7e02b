#include "elements/combine.hpp"

#include <array>
#include <atomic>
#include <utility>

#include "elements/element_types.hpp"

namespace lfc {
namespace {

template <class T, Accumulate operation>
[[gnu::always_inline]] inline void combine_all(const std::byte* a, const std::byte* b,
                                               std::byte* out, std::size_t count) {
  constexpr std::size_t size = Packed<T>::size;
  if constexpr (operation == Accumulate::replace) {
    if (out != b) std::memcpy(out, b, count * size);
  } else if constexpr (operation == Accumulate::sum && is_complex<T>) {
    combine_all<typename T::value_type, operation>(a, b, out, 2 * count);
  } else if constexpr (operation != Accumulate::no_op && allows<T>(operation)) {
    // Either the same place or disjoint: no element is read after another has been stored there.
#pragma GCC ivdep
    for (std::size_t i = 0; i < count * size; i += size)
      Packed<T>::store(out + i, combine(operation, Packed<T>::load(a + i), Packed<T>::load(b + i)));
  }
}

// The compiler makes several versions of the loop, one for each set of instructions.
template <class T, Accumulate operation>
void basic(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  combine_all<T, operation>(a, b, out, count);
}
#ifdef __x86_64__
template <class T, Accumulate operation>
[[gnu::target("avx2")]] void wide(const std::byte* a, const std::byte* b, std::byte* out,
                                  std::size_t count) {
  combine_all<T, operation>(a, b, out, count);
}
bool has_wide() noexcept { return __builtin_cpu_supports("avx2") != 0; }
#else
template <class T, Accumulate operation>
constexpr Combiner wide = basic<T, operation>;
bool has_wide() noexcept { return false; }
#endif

constexpr auto kOperations = static_cast<std::size_t>(Accumulate::count_);
constexpr auto kElements = static_cast<std::size_t>(Element::count_);
using Loops = std::array<Combiner, kOperations>;

template <class T, bool is_wide, std::size_t... operation>
constexpr Loops loops_of(std::index_sequence<operation...>) noexcept {
  if constexpr (is_wide) return {wide<T, static_cast<Accumulate>(operation)>...};
  return {basic<T, static_cast<Accumulate>(operation)>...};
}

template <bool is_wide>
constexpr auto kLoops = [] {
  std::array<Loops, kElements> all{};
  for (std::size_t i = 0; i < kElements; ++i)
    all[i] = with_type(static_cast<Element>(i), [](auto value) {
      return loops_of<decltype(value), is_wide>(std::make_index_sequence<kOperations>{});
    });
  return all;
}();

// A value that stays is not stored again: a store costs more than the comparison.
template <class V, class I, Accumulate operation>
[[gnu::always_inline]] inline void change_pair(std::byte* target, std::int64_t index,
                                               const Pair<V, I>& operand) {
  const V old = Packed<V>::load(target);
  const bool replaces =
      operation == Accumulate::replace ||
      (operation == Accumulate::max_location ? operand.value > old : operand.value < old);
  if (replaces) {
    Packed<Pair<V, I>>::store(target, operand, index);
  } else if (operand.value == old && operand.index < Packed<I>::load(target + index)) {
    Packed<I>::store(target + index, operand.index);
  }
}

template <class T, Accumulate operation>
[[gnu::always_inline]] inline void change_pairs(std::byte* target, Spacing there,
                                                const std::byte* operands, Spacing here,
                                                std::size_t count) {
  for (; count > 0; --count, target += there.stride, operands += here.stride)
    change_pair<decltype(T::value), decltype(T::index), operation>(
        target, there.index, Packed<T>::load(operands, here.index));
}

// Whether any of `count` operands, in C's layout, replaces its target. They are compared together, without a branch for
// each.
template <class T, Accumulate operation, std::size_t count>
[[gnu::always_inline]] inline bool any_replaces(const std::byte* target,
                                                const std::byte* operands) {
  int any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T there = Packed<T>::load(target + i * sizeof(T), offsetof(T, index));
    const T here = Packed<T>::load(operands + i * sizeof(T), offsetof(T, index));
    const bool better =
        operation == Accumulate::max_location ? here.value > there.value : here.value < there.value;
    any |= static_cast<int>(better) | (static_cast<int>(here.value == there.value) &
                                       static_cast<int>(here.index < there.index));
  }
  return any != 0;
}

// For C's layout on both sides, the usual case. The distances are constants, and blocks in which nothing
// changes are skipped. After a change, the next blocks are handled pair by pair.
template <class T, Accumulate operation>
[[gnu::always_inline]] inline void change_usual(std::byte* target, const std::byte* operands,
                                                std::size_t count) {
  constexpr Spacing usual{sizeof(T), offsetof(T, index)};
  constexpr std::size_t kBlock = 32;
  constexpr unsigned kNotLooked = 8;
  unsigned not_looked = 0;
  while (count > 0) {
    const std::size_t length = std::min(count, kBlock);
    const bool looks = not_looked == 0 && length == kBlock;
    if (!looks || any_replaces<T, operation, kBlock>(target, operands)) {
      not_looked = looks ? kNotLooked : not_looked - (not_looked != 0 ? 1 : 0);
      change_pairs<T, operation>(target, usual, operands, usual, length);
    }
    target += length * sizeof(T), operands += length * sizeof(T), count -= length;
  }
}

template <class T, Accumulate operation>
[[gnu::always_inline]] inline void spaced_all(std::byte* target, Spacing there,
                                              const std::byte* operands, Spacing here,
                                              std::size_t count) {
  constexpr Spacing usual{sizeof(T), offsetof(T, index)};
  if (operation != Accumulate::replace && there == usual && here == usual)
    return change_usual<T, operation>(target, operands, count);
  change_pairs<T, operation>(target, there, operands, here, count);
}

template <class T, Accumulate operation>
void spaced(std::byte* target, Spacing there, const std::byte* operands, Spacing here,
            std::size_t count) {
  spaced_all<T, operation>(target, there, operands, here, count);
}
#ifdef __x86_64__
template <class T, Accumulate operation>
[[gnu::target("avx2")]] void spaced_wide(std::byte* target, Spacing there,
                                         const std::byte* operands, Spacing here,
                                         std::size_t count) {
  spaced_all<T, operation>(target, there, operands, here, count);
}
#else
template <class T, Accumulate operation>
constexpr PairCombiner spaced_wide = spaced<T, operation>;
#endif

}  // namespace

PairCombiner pair_combiner(Accumulation what) noexcept {
  return with_type(what.element, [&](auto value) -> PairCombiner {
    using T = decltype(value);
    if constexpr (is_pair<T>) {
      switch (what.operation) {
        case Accumulate::max_location:
          return has_wide() ? spaced_wide<T, Accumulate::max_location>
                            : spaced<T, Accumulate::max_location>;
        case Accumulate::min_location:
          return has_wide() ? spaced_wide<T, Accumulate::min_location>
                            : spaced<T, Accumulate::min_location>;
        case Accumulate::replace: return spaced<T, Accumulate::replace>;
        default: break;
      }
    }
    return nullptr;
  });
}

Combiner combiner(Accumulation what) noexcept {
  static constinit std::atomic<const std::array<Loops, kElements>*> chosen{nullptr};
  const auto* loops = chosen.load(std::memory_order_relaxed);
  if (loops == nullptr) [[unlikely]]
    chosen.store(loops = has_wide() ? &kLoops<true> : &kLoops<false>, std::memory_order_relaxed);
  return (*loops)[static_cast<std::size_t>(what.element)][static_cast<std::size_t>(what.operation)];
}

Combiner number_combiner(Accumulation what) noexcept {
  if (what.operation > Accumulate::logical_xor || what.element > Element::f64 ||
      !is_valid(what.operation, what.element))
    return nullptr;
  return combiner(what);
}

}  // namespace lfc
