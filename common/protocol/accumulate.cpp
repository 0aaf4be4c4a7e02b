#include "protocol/accumulate.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <complex>
#include <csignal>
#include <cstring>
#include <type_traits>

namespace lfc {
namespace {

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
decltype(auto) with_type(Element element, Visit visit) {
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
template <class V, class I>
struct Packed<Pair<V, I>> {
  static constexpr std::size_t size = sizeof(V) + sizeof(I);
  static Pair<V, I> load(const std::byte* from) noexcept {
    return {Packed<V>::load(from), Packed<I>::load(from + sizeof(V))};
  }
  static void store(std::byte* to, const Pair<V, I>& pair) noexcept {
    Packed<V>::store(to, pair.value);
    Packed<I>::store(to + sizeof(V), pair.index);
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

// Signed sums overflow as the hardware does, not as the language does.
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

// What the CPU changes at once: an unsigned word of the element's size.
template <std::size_t size>
struct Word;
template <>
struct Word<1> {
  using type = std::uint8_t;
};
template <>
struct Word<2> {
  using type = std::uint16_t;
};
template <>
struct Word<4> {
  using type = std::uint32_t;
};
template <>
struct Word<8> {
  using type = std::uint64_t;
};

template <class T>
inline constexpr bool fits_word =
    !is_pair<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

bool is_aligned(const std::byte* address, std::size_t size) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % size == 0;
}

template <class T>
T change_at_once(Accumulate op, std::byte* target, const T& operand) noexcept {
  using Bits = typename Word<sizeof(T)>::type;
  auto* const word = reinterpret_cast<Bits*>(target);
  const auto bits = Packed<Bits>::load(reinterpret_cast<const std::byte*>(&operand));
  Bits before{};
  switch (op) {
    case Accumulate::no_op: before = __atomic_load_n(word, __ATOMIC_ACQUIRE); break;
    case Accumulate::replace: before = __atomic_exchange_n(word, bits, __ATOMIC_ACQ_REL); break;
    case Accumulate::sum:
      if constexpr (std::is_integral_v<T>) {
        before = __atomic_fetch_add(word, bits, __ATOMIC_ACQ_REL);
        break;
      }
      [[fallthrough]];
    default: {
      before = __atomic_load_n(word, __ATOMIC_RELAXED);
      Bits after{};
      do {
        const T value =
            combine(op, Packed<T>::load(reinterpret_cast<std::byte*>(&before)), operand);
        after = Packed<Bits>::load(reinterpret_cast<const std::byte*>(&value));
      } while (!__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED));
    }
  }
  return Packed<T>::load(reinterpret_cast<std::byte*>(&before));
}

// Changes the packed element at `target`, alone.
template <class T>
void change(Accumulate op, std::byte* target, const std::byte* operand, std::byte* old) noexcept {
  const T before = Packed<T>::load(target);
  if (old != nullptr) Packed<T>::store(old, before);
  if (op != Accumulate::no_op)
    Packed<T>::store(target, combine(op, before, Packed<T>::load(operand)));
}

template <class T>
void accumulate_typed(Accumulate op, Cursor& target, std::byte* memory, const std::byte* operand,
                      std::byte* old, std::uint64_t bytes, ElementLock& lock) {
  constexpr std::size_t size = Packed<T>::size;
  while (bytes >= size) {
    if constexpr (fits_word<T>) {
      Cursor ahead = target;
      Piece piece;
      ahead.next(bytes, piece);
      std::byte* at = memory + piece.offset;
      if (is_aligned(at, size) && piece.length % size == 0) {
        target = ahead;
        bytes -= piece.length;
        for (std::uint64_t n = piece.length / size; n > 0; --n, at += size) {
          const T value = op == Accumulate::no_op ? T{} : Packed<T>::load(operand);
          const T before = change_at_once<T>(op, at, value);
          if (old != nullptr) Packed<T>::store(old, before), old += size;
          if (operand != nullptr) operand += size;
        }
        continue;
      }
    }
    // An element in pieces, or one that the CPU cannot change at once.
    std::array<std::byte, kMaxElement> packed;
    Cursor there = target;
    lock.lock();
    gather(target, memory, packed.data(), size);
    change<T>(op, packed.data(), operand, old);
    if (op != Accumulate::no_op) scatter(there, memory, packed.data(), size);
    lock.unlock();
    if (old != nullptr) old += size;
    if (operand != nullptr) operand += size;
    bytes -= size;
  }
}

template <class Bits>
void swap_word(std::byte* target, const std::byte* compare, const std::byte* value,
               std::byte* old) noexcept {
  Bits expected = Packed<Bits>::load(compare);
  __atomic_compare_exchange_n(reinterpret_cast<Bits*>(target), &expected, Packed<Bits>::load(value),
                              false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  Packed<Bits>::store(old, expected);
}

}  // namespace

std::size_t size_of(Element element) noexcept {
  return with_type(element, [](auto value) { return Packed<decltype(value)>::size; });
}

bool is_valid(Accumulate operation, Element element) noexcept {
  if (operation >= Accumulate::count_ || element >= Element::count_) return false;
  return with_type(element, [&](auto value) { return allows<decltype(value)>(operation); });
}

// A holder that died inside leaves the lock behind; whoever finds that out takes it over.
void ElementLock::lock() noexcept {
  static const auto self = static_cast<std::uint32_t>(getpid());
  for (unsigned spins = 0; !try_lock(self); ++spins) {
    if (spins < 64) continue;
    sched_yield();
    if (spins % 4096 != 0) continue;
    std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    const bool dead = holder != 0 && kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH;
    if (dead && holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
  }
}

void accumulate(Accumulation what, Cursor& target, std::byte* memory, const std::byte* operand,
                std::byte* old, std::uint64_t bytes, ElementLock& lock) {
  with_type(what.element, [&](auto value) {
    accumulate_typed<decltype(value)>(what.operation, target, memory, operand, old, bytes, lock);
  });
}

void accumulate(Accumulation what, std::byte* target, const std::byte* operand, std::byte* old,
                std::uint64_t count, ElementLock& lock) {
  with_type(what.element, [&](auto value) {
    using T = decltype(value);
    if constexpr (fits_word<T>) {
      if (count == 1 && is_aligned(target, sizeof(T))) {
        if (what.operation != Accumulate::no_op) value = Packed<T>::load(operand);
        const T before = change_at_once<T>(what.operation, target, value);
        if (old != nullptr) Packed<T>::store(old, before);
        return;
      }
    }
    const std::uint64_t bytes = count * Packed<T>::size;
    const Run run{0, bytes, 0, 1};
    Cursor cursor({&run, 1}, 0, 1, 0);
    accumulate_typed<T>(what.operation, cursor, target, operand, old, bytes, lock);
  });
}

void compare_and_swap(std::byte* target, const std::byte* compare, const std::byte* value,
                      std::byte* old, std::size_t size, ElementLock& lock) {
  if (is_aligned(target, size)) {
    switch (size) {
      case 1: return swap_word<std::uint8_t>(target, compare, value, old);
      case 2: return swap_word<std::uint16_t>(target, compare, value, old);
      case 4: return swap_word<std::uint32_t>(target, compare, value, old);
      case 8: return swap_word<std::uint64_t>(target, compare, value, old);
      default: break;
    }
  }
  lock.lock();
  std::memcpy(old, target, size);
  if (std::memcmp(old, compare, size) == 0) std::memcpy(target, value, size);
  lock.unlock();
}

}  // namespace lfc
