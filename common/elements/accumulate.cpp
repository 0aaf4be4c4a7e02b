#include "elements/accumulate.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "elements/combine.hpp"
#include "elements/element_types.hpp"
#include "sync/atomic_fence.hpp"

namespace lfc {
namespace {

// Bytes of each element, and of a pair's value.
struct TypeFacts {
  std::uint16_t size = 0;
  std::uint16_t value_size = 0;
  PairLayout pairs;
};
constexpr auto kTypes = [] {
  std::array<TypeFacts, static_cast<std::size_t>(Element::count_)> facts{};
  for (std::size_t i = 0; i < facts.size(); ++i)
    facts[i] = with_type(static_cast<Element>(i), [](auto value) {
      using T = decltype(value);
      TypeFacts type{Packed<T>::size, 0, {}};
      if constexpr (is_pair<T>) {
        type.value_size = Packed<T>::value_size;
        type.pairs = {sizeof(T), offsetof(T, index) + sizeof(value.index)};
      }
      return type;
    });
  return facts;
}();

// The unsigned word of an element's size, which the CPU can change at once.
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
  constexpr std::size_t size = Packed<T>::size;
  if (old != nullptr) std::memcpy(old, target, size);
  if (op == Accumulate::replace) {
    std::memcpy(target, operand, size);
  } else if (op != Accumulate::no_op) {
    Packed<T>::store(target, combine(op, Packed<T>::load(target), Packed<T>::load(operand)));
  }
}

// Changes each element separately: by a CPU atomic, or under the lock, which is null if the caller holds it.
template <class T>
void one_by_one(Accumulate op, Cursor& target, std::byte* memory, const std::byte* operand,
                std::byte* old, std::uint64_t bytes, ElementLock* lock) {
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
    if (lock != nullptr) lock->lock();
    gather(target, memory, packed.data(), size);
    change<T>(op, packed.data(), operand, old);
    if (op != Accumulate::no_op) scatter(there, memory, packed.data(), size);
    if (lock != nullptr) lock->unlock();
    if (old != nullptr) old += size;
    if (operand != nullptr) operand += size;
    bytes -= size;
  }
}

// Together: changes many elements at a time, which no other thread changes meanwhile.
struct Together {
  explicit Together(Accumulation what)
      : size(size_of(what.element)),
        combine(what.operation == Accumulate::no_op ? nullptr : combiner(what)),
        what_(what) {}

  // Changes contiguous elements.
  void change(std::byte* target, const std::byte* operand, std::byte* old,
              std::uint64_t bytes) const {
    if (old != nullptr) std::memcpy(old, target, bytes);
    if (combine != nullptr) combine(target, operand, target, bytes / size);
  }
  // Packs elements in small pieces, changes them, and puts them back.
  void change(Cursor& target, std::byte* memory, const std::byte* operand, std::byte* old,
              std::uint64_t bytes) const;

  // Changes pairs with gaps; only calls without old values use it. Returns the bytes that it has handled.
  std::uint64_t change_pairs(Cursor& target, std::byte* memory, const std::byte* operand,
                             std::uint64_t bytes) const {
    SpacedPairs pairs;
    const std::uint16_t value_size = kTypes[static_cast<std::size_t>(what_.element)].value_size;
    const PairCombiner combine_pairs = value_size == 0 ? nullptr : pair_combiner(what_);
    if (combine_pairs == nullptr ||
        !target.next_pairs(value_size, size - value_size, bytes / size, pairs))
      return 0;
    combine_pairs(memory + pairs.offset, pairs.spacing, operand,
                  {static_cast<std::int64_t>(size), static_cast<std::int64_t>(value_size)},
                  pairs.count);
    return pairs.count * size;
  }

  const std::size_t size;
  const Combiner combine;  // null: reads only

 private:
  const Accumulation what_;
};

void Together::change(Cursor& target, std::byte* memory, const std::byte* operand, std::byte* old,
                      std::uint64_t bytes) const {
  constexpr std::size_t kPacked = 2048;
  constexpr std::size_t kPiece = 128;
  std::array<std::byte, kPacked> packed;
  while (bytes > 0) {
    if (old == nullptr) {
      const std::uint64_t done = change_pairs(target, memory, operand, bytes);
      operand += done, bytes -= done;
      if (done != 0) continue;
    }
    Cursor ahead = target;
    Piece piece;
    ahead.next(bytes, piece);
    std::uint64_t length = piece.length;
    if (length % size == 0 && (length >= kPiece || length == bytes)) {
      target = ahead;
      change(memory + piece.offset, operand, old, length);
    } else {
      length = std::min<std::uint64_t>(bytes, kPacked - kPacked % size);
      Cursor there = target;
      gather(target, memory, packed.data(), length);
      change(packed.data(), operand, old, length);
      if (combine != nullptr) scatter(there, memory, packed.data(), length);
    }
    if (combine != nullptr) operand += length;
    if (old != nullptr) old += length;
    bytes -= length;
  }
}

// Calls change(operand, old, length) for part after part, each under the lock.
template <class Change>
void in_parts(ElementLock& lock, std::size_t size, const std::byte* operand, std::byte* old,
              std::uint64_t bytes, Change change) {
  const std::uint64_t most = kHeldBytes - kHeldBytes % size;
  while (bytes > 0) {
    const std::uint64_t length = std::min(bytes, most);
    {
      const std::lock_guard held(lock);
      change(operand, old, length);
    }
    if (operand != nullptr) operand += length;
    if (old != nullptr) old += length;
    bytes -= length;
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

constexpr std::array<std::uint16_t, static_cast<std::size_t>(Element::count_)> kAllowedOperations =
    [] {
      std::array<std::uint16_t, static_cast<std::size_t>(Element::count_)> allowed{};
      for (std::size_t i = 0; i < allowed.size(); ++i)
        allowed[i] = with_type(static_cast<Element>(i), [](auto value) {
          unsigned operations = 0;
          for (unsigned op = 0; op < static_cast<unsigned>(Accumulate::count_); ++op)
            if (allows<decltype(value)>(static_cast<Accumulate>(op))) operations |= 1u << op;
          return static_cast<std::uint16_t>(operations);
        });
      return allowed;
    }();

std::size_t size_of(Element element) noexcept {
  return kTypes[static_cast<std::size_t>(element)].size;
}

const std::uint32_t ElementLock::kSelf = static_cast<std::uint32_t>(getpid());

// A holder that ended inside leaves the lock behind; the process that detects that takes it over.
void ElementLock::wait() noexcept {
  for (unsigned spins = 0; !try_lock(kSelf); ++spins) {
    if (spins < 64) continue;
    sched_yield();
    if (spins % 4096 != 0) continue;
    std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    const bool dead = holder != 0 && kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH;
    if (dead && holder_.compare_exchange_strong(holder, kSelf, std::memory_order_acquire)) return;
  }
}

namespace {

// Whether no other thread changes such elements while the lock is held: elements that are no words need the lock
// always.
bool is_alone(Element element, const ElementGuard& guard) noexcept {
  if (guard.hold != Hold::shared) return guard.hold == Hold::alone;
  return with_type(element, [](auto value) { return !fits_word<decltype(value)>; });
}

}  // namespace

void accumulate(Accumulation what, Cursor& target, std::byte* memory, const std::byte* operand,
                std::byte* old, std::uint64_t bytes, ElementGuard guard) {
  const auto each = [&](std::uint64_t length, ElementLock* lock) {
    with_type(what.element, [&](auto value) {
      one_by_one<decltype(value)>(what.operation, target, memory, operand, old, length, lock);
    });
  };
  if (guard.hold == Hold::none) return each(bytes, &guard.lock);
  const Together together(what);
  const bool alone = is_alone(what.element, guard);
  in_parts(guard.lock, together.size, operand, old, bytes,
           [&](const std::byte* from, std::byte* before, std::uint64_t length) {
             if (alone) return together.change(target, memory, from, before, length);
             operand = from, old = before;
             each(length, nullptr);
           });
}

bool accumulate_pairs(Accumulation what, Cursor& target, std::byte* memory, Cursor& operands,
                      const std::byte* origin, std::uint64_t bytes, ElementGuard guard) {
  const TypeFacts& type = kTypes[static_cast<std::size_t>(what.element)];
  const PairCombiner combine = pair_combiner(what);
  const std::uint64_t count = bytes / type.size;
  const std::uint64_t index_size = type.size - type.value_size;
  SpacedPairs to, from;
  Cursor there = target, here = operands;
  if (combine == nullptr || guard.hold == Hold::none ||
      !there.next_pairs(type.value_size, index_size, count, to) ||
      !here.next_pairs(type.value_size, index_size, count, from) || to.count != count ||
      from.count != count)
    return false;
  target = there, operands = here;
  std::byte* at = memory + to.offset;
  const std::byte* operand = origin + from.offset;
  in_parts(guard.lock, type.size, nullptr, nullptr, bytes,
           [&](const std::byte*, std::byte*, std::uint64_t length) {
             const std::uint64_t pairs = length / type.size;
             combine(at, to.spacing, operand, from.spacing, pairs);
             at += to.spacing.stride * static_cast<std::int64_t>(pairs);
             operand += from.spacing.stride * static_cast<std::int64_t>(pairs);
           });
  return true;
}

PairLayout layout_of(Element element) noexcept {
  return kTypes[static_cast<std::size_t>(element)].pairs;
}

bool accumulate_pairs(Accumulation what, std::byte* target, const std::byte* operands,
                      std::uint64_t count, ElementLock& lock) {
  const TypeFacts& type = kTypes[static_cast<std::size_t>(what.element)];
  const PairCombiner combine = pair_combiner(what);
  if (combine == nullptr) return false;
  const auto distance = static_cast<std::int64_t>(type.pairs.distance);
  const auto index = static_cast<std::int64_t>(type.pairs.used) - (type.size - type.value_size);
  const Spacing spacing{distance, index};
  const std::uint64_t most = kHeldBytes / type.pairs.distance;
  for (std::uint64_t length = 0; count > 0; count -= length) {
    length = std::min(count, most);
    const std::lock_guard held(lock);
    combine(target, spacing, operands, spacing, length);
    target += length * type.pairs.distance, operands += length * type.pairs.distance;
  }
  return true;
}

namespace {

// Changes one element by a CPU atomic. False: the CPU cannot change it at once.
inline bool change_single(Accumulation what, std::byte* target, const std::byte* operand,
                          std::byte* old) noexcept {
  return with_type(what.element, [&](auto value) {
    using T = decltype(value);
    if constexpr (fits_word<T>) {
      if (is_aligned(target, sizeof(T))) {
        if (what.operation != Accumulate::no_op) value = Packed<T>::load(operand);
        const T before = change_at_once<T>(what.operation, target, value);
        if (old != nullptr) Packed<T>::store(old, before);
        return true;
      }
    }
    return false;
  });
}

[[gnu::noinline]] bool accumulate_row(Accumulation what, std::byte* target,
                                      const std::byte* operand, std::byte* old, std::uint64_t count,
                                      ElementGuard guard) {
  if (count == 1 && guard.hold == Hold::shared) {
    const std::lock_guard held(guard.lock);
    if (change_single(what, target, operand, old)) return kAtomicsAreFences;
  }
  const std::uint64_t bytes = count * size_of(what.element);
  if (guard.hold == Hold::alone && bytes <= kHeldBytes) {
    const Combiner combine = what.operation == Accumulate::no_op ? nullptr : combiner(what);
    const std::lock_guard held(guard.lock);
    if (old != nullptr) std::memcpy(old, target, bytes);
    if (combine != nullptr) combine(target, operand, target, count);
    return false;
  }
  const Together together(what);
  if (guard.hold == Hold::alone) {
    in_parts(guard.lock, together.size, operand, old, bytes,
             [&](const std::byte* from, std::byte* before, std::uint64_t length) {
               together.change(target, from, before, length);
               target += length;
             });
    return false;
  }
  const Run run{0, bytes, 0, 1};
  Cursor cursor({&run, 1}, 0, 1, 0);
  accumulate(what, cursor, target, operand, old, run.length, guard);
  return false;
}

// False: not a word that the CPU can change at once.
inline bool swap_single(std::byte* target, const std::byte* compare, const std::byte* value,
                        std::byte* old, std::size_t size) noexcept {
  if (!is_aligned(target, size)) return false;
  switch (size) {
    case 1: swap_word<std::uint8_t>(target, compare, value, old); return true;
    case 2: swap_word<std::uint16_t>(target, compare, value, old); return true;
    case 4: swap_word<std::uint32_t>(target, compare, value, old); return true;
    case 8: swap_word<std::uint64_t>(target, compare, value, old); return true;
    default: return false;
  }
}

[[gnu::noinline]] bool swap_locked(std::byte* target, const std::byte* compare,
                                   const std::byte* value, std::byte* old, std::size_t size,
                                   ElementLock& lock) {
  const std::lock_guard held(lock);
  if (swap_single(target, compare, value, old, size)) return kAtomicsAreFences;
  std::memcpy(old, target, size);
  if (std::memcmp(old, compare, size) == 0) std::memcpy(target, value, size);
  return false;
}

}  // namespace

bool accumulate(Accumulation what, std::byte* target, const std::byte* operand, std::byte* old,
                std::uint64_t count, ElementGuard guard) {
  if (count == 1 && guard.hold == Hold::none && change_single(what, target, operand, old))
    return kAtomicsAreFences;
  return accumulate_row(what, target, operand, old, count, guard);
}

bool compare_and_swap(std::byte* target, const std::byte* compare, const std::byte* value,
                      std::byte* old, std::size_t size, ElementGuard guard) {
  if (guard.hold == Hold::none && swap_single(target, compare, value, old, size))
    return kAtomicsAreFences;
  return swap_locked(target, compare, value, old, size, guard.lock);
}

}  // namespace lfc
