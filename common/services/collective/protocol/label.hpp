// Label: the description of one step of an operation that a rank publishes beside the bytes. A reader computes a label
// from its own call. If the two differ, the ranks passed different counts, roots, operations or types, or made
// different calls.
//
//   Label label{.kind = 1, .last = true, .root = 3, .size = 40};
//   if (label.digest() == theirs.digest()) ...      // all but the root's high bits and sizes above 56
//   if (label.word() == theirs.word()) ...          // all of it
//
// Threads: a value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc {

struct Label {
  // Sizes up to this one have digests of their own.
  static constexpr std::size_t kSmall = 56;
  static constexpr unsigned kDigestBits = 21;
  static constexpr unsigned kKindBits = 5;
  static constexpr std::uint32_t kKinds = 1u << kKindBits;
  static constexpr std::size_t kMostBytes = (std::size_t{1} << 20) - 1;

  std::uint8_t kind = 0;   // below kKinds
  bool wrong = false;      // it comes without bytes, because the call cannot be done
  bool last = false;       // step of the operation
  std::uint8_t what = 0;   // operation and type of a reduction, below 128
  std::uint32_t root = 0;  // rank; its low 24 bits count
  std::uint32_t size = 0;  // of the bytes in this step, at most kMostBytes

  constexpr std::uint64_t word() const noexcept {
    return size | std::uint64_t{root & 0xffffffu} << 20 | std::uint64_t{kind} << 44 |
           std::uint64_t{what} << 49 | std::uint64_t{wrong} << 62 | std::uint64_t{last} << 63;
  }
  // `size`: number of bytes that came with it.
  static constexpr Label of(std::uint64_t word, std::size_t size) noexcept {
    return {static_cast<std::uint8_t>(word >> 44 & (kKinds - 1)),
            (word >> 62 & 1) != 0,
            word >> 63 != 0,
            static_cast<std::uint8_t>(word >> 49 & 0x7f),
            static_cast<std::uint32_t>(word >> 20 & 0xffffff),
            static_cast<std::uint32_t>(size)};
  }
  constexpr std::uint32_t digest() const noexcept {
    const std::uint32_t code = wrong ? kWrong : size <= kSmall ? size : kLarge;
    return code | (last ? kLast : 0) | std::uint32_t{kind} << 7 | (root & 3u) << 12 |
           std::uint32_t{what} << 14;
  }
  // Whether both digests describe the same number of steps, written by the same ranks.
  static constexpr bool same_walk(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t kWalk = kLast | (kKinds - 1) << 7 | 3u << 12;
    return ((a ^ b) & kWalk) == 0;
  }
  friend constexpr bool operator==(const Label& a, const Label& b) noexcept {
    return a.word() == b.word();
  }

 private:
  static constexpr std::uint32_t kLarge = 63;
  static constexpr std::uint32_t kWrong = 62;
  static constexpr std::uint32_t kLast = 1u << 6;
};

}  // namespace lfc
