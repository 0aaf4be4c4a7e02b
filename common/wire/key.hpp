// Keys: secrets that permit processes to connect, and proofs of possessing them without sending them.
//
//   const Key key = random_key();                        // drawn once, published with the address
//   const Key proof = siphash(key, message);             // by an owner of the key, over data to be protected
//   if (siphash(key, message) != proof) refuse();        // takes the same time wherever the two differ
//
// SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012) is a pseudo-random function: without the key no proof can be
// made, and no proof reveals the key. *Held by* tests/unit/wire/key_test.cpp, with the published values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lfc {

struct Key {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  constexpr Key() = default;
  constexpr Key(std::uint64_t low_, std::uint64_t high_ = 0) noexcept : low(low_), high(high_) {}

  // Zero: none, or not known.
  explicit operator bool() const noexcept { return (low | high) != 0; }
  friend bool operator==(const Key& a, const Key& b) noexcept {
    return ((a.low ^ b.low) | (a.high ^ b.high)) == 0;
  }
};
static_assert(sizeof(Key) == 16);

// Draws a key from the kernel's random numbers; never zero. Throws std::system_error if it has none.
Key random_key();

Key siphash(const Key& key, std::span<const std::byte> message) noexcept;

// A short public name of a key, which reveals nothing of it.
std::uint32_t tag_of(const Key& key) noexcept;

}  // namespace lfc
