#include "protocol/combine.hpp"

#include <array>
#include <utility>

#include "protocol/element_types.hpp"

namespace lfc {
namespace {

template <class T, Accumulate operation>
[[gnu::always_inline]] inline void combine_all(std::byte* target, const std::byte* operands,
                                               std::size_t count) {
  constexpr std::size_t size = Packed<T>::size;
  if constexpr (operation == Accumulate::replace) {
    std::memcpy(target, operands, count * size);
  } else if constexpr (operation == Accumulate::sum && is_complex<T>) {
    combine_all<typename T::value_type, operation>(target, operands, 2 * count);
  } else if constexpr (operation != Accumulate::no_op && allows<T>(operation)) {
    for (std::size_t i = 0; i < count * size; i += size)
      Packed<T>::store(target + i, combine(operation, Packed<T>::load(target + i),
                                           Packed<T>::load(operands + i)));
  }
}

// The compiler makes the same loop several times, each for what a processor may have.
template <class T, Accumulate operation>
void basic(std::byte* target, const std::byte* operands, std::size_t count) {
  combine_all<T, operation>(target, operands, count);
}
#ifdef __x86_64__
template <class T, Accumulate operation>
[[gnu::target("avx2")]] void wide(std::byte* target, const std::byte* operands, std::size_t count) {
  combine_all<T, operation>(target, operands, count);
}
bool has_wide() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
template <class T, Accumulate operation>
constexpr Combiner wide = basic<T, operation>;
bool has_wide() noexcept { return false; }
#endif

template <class T, std::size_t... operation>
Combiner pick(Accumulate which, std::index_sequence<operation...>) noexcept {
  static constexpr std::array<Combiner, sizeof...(operation)> kBasic{
      basic<T, static_cast<Accumulate>(operation)>...};
  static constexpr std::array<Combiner, sizeof...(operation)> kWide{
      wide<T, static_cast<Accumulate>(operation)>...};
  return (has_wide() ? kWide : kBasic)[static_cast<std::size_t>(which)];
}

}  // namespace

Combiner combiner(Accumulation what) noexcept {
  return with_type(what.element, [&](auto value) {
    constexpr auto kOperations = static_cast<std::size_t>(Accumulate::count_);
    return pick<decltype(value)>(what.operation, std::make_index_sequence<kOperations>{});
  });
}

}  // namespace lfc
