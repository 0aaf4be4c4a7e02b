#include "services/collective/combine.hpp"

#include <concepts>
#include <type_traits>

namespace lfc {
namespace {

// Sums and products of signed numbers are formed without a sign: wrapping is defined there. What is
// narrower than int is widened to unsigned first, or it would become a signed int.
template <class T>
struct Arithmetic {
  using type = T;
};
template <std::integral T>
struct Arithmetic<T> {
  using type = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;
};

template <CombineOp op, class T>
T apply(T a, T b) noexcept {
  using A = typename Arithmetic<T>::type;
  if constexpr (op == CombineOp::max) return a > b ? a : b;
  if constexpr (op == CombineOp::min) return a < b ? a : b;
  if constexpr (op == CombineOp::sum) return static_cast<T>(static_cast<A>(a) + static_cast<A>(b));
  if constexpr (op == CombineOp::prod) return static_cast<T>(static_cast<A>(a) * static_cast<A>(b));
  if constexpr (op == CombineOp::land) return static_cast<T>(a && b);
  if constexpr (op == CombineOp::lor) return static_cast<T>(a || b);
  if constexpr (op == CombineOp::lxor) return static_cast<T>(!a != !b);
  if constexpr (std::is_integral_v<T>) {
    if constexpr (op == CombineOp::band) return static_cast<T>(a & b);
    if constexpr (op == CombineOp::bor) return static_cast<T>(a | b);
    if constexpr (op == CombineOp::bxor) return static_cast<T>(a ^ b);
  }
}

template <CombineOp op, class T>
void run(const void* a, const void* b, void* out, std::size_t count) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) z[i] = apply<op>(x[i], y[i]);
}

template <CombineOp op>
Combine for_type(CombineType type) noexcept {
  switch (type) {
    case CombineType::int8: return run<op, std::int8_t>;
    case CombineType::int16: return run<op, std::int16_t>;
    case CombineType::int32: return run<op, std::int32_t>;
    case CombineType::int64: return run<op, std::int64_t>;
    case CombineType::uint8: return run<op, std::uint8_t>;
    case CombineType::uint16: return run<op, std::uint16_t>;
    case CombineType::uint32: return run<op, std::uint32_t>;
    case CombineType::uint64: return run<op, std::uint64_t>;
    default: break;
  }
  if constexpr (op <= CombineOp::prod) {
    if (type == CombineType::float32) return run<op, float>;
    if (type == CombineType::float64) return run<op, double>;
  }
  return nullptr;
}

}  // namespace

Combine find_combine(CombineOp op, CombineType type) noexcept {
  switch (op) {
    case CombineOp::max: return for_type<CombineOp::max>(type);
    case CombineOp::min: return for_type<CombineOp::min>(type);
    case CombineOp::sum: return for_type<CombineOp::sum>(type);
    case CombineOp::prod: return for_type<CombineOp::prod>(type);
    case CombineOp::land: return for_type<CombineOp::land>(type);
    case CombineOp::band: return for_type<CombineOp::band>(type);
    case CombineOp::lor: return for_type<CombineOp::lor>(type);
    case CombineOp::bor: return for_type<CombineOp::bor>(type);
    case CombineOp::lxor: return for_type<CombineOp::lxor>(type);
    case CombineOp::bxor: return for_type<CombineOp::bxor>(type);
  }
  return nullptr;
}

std::size_t combine_size(CombineType type) noexcept {
  static constexpr std::size_t kSizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  return kSizes[static_cast<std::size_t>(type)];
}

}  // namespace lfc
