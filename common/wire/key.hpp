// Keys: what a process gives to those who may talk to it, and how they prove that they have it without sending it.
//
//   const Key key = random_key();                        // drawn once, published with the address
//   const Key proof = siphash(key, message);             // by who knows it, over what nobody shall alter
//   if (siphash(key, message) != proof) refuse();        // takes as long wherever the two differ
//
// SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012) is a pseudo-random function: without the key no proof can be
// made, and none tells anything of the key. *Held by* tests/unit/wire/key_test.cpp, with the published values.
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

// Of the kernel's random numbers; never zero. Throws std::system_error when it has none.
Key random_key();

Key siphash(const Key& key, std::span<const std::byte> message) noexcept;

// A short name of a key, which tells nothing of it: it may be shown to anybody.
std::uint32_t tag_of(const Key& key) noexcept;

}  // namespace lfc
