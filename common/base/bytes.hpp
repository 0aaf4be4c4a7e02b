// Bytes: small arithmetic on bytes.
//
//   std::optional<std::uint32_t> number = read_pod<std::uint32_t>(bytes);      // nullopt: too few bytes
//   std::uint32_t same = load_pod<std::uint32_t>(bytes.data());                // the caller has checked their number
//   std::size_t pages = round_up(bytes.size(), 4096);
//   std::uint64_t tag = fnv1a(bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace lfc {

// The plain value at this address, aligned or not.
template <class T>
T load_pod(const std::byte* bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof value);
  return value;
}

// The plain value at `offset`.
template <class T>
std::optional<T> read_pod(std::span<const std::byte> bytes, std::size_t offset = 0) noexcept {
  if (bytes.size() < offset || bytes.size() - offset < sizeof(T)) return std::nullopt;
  return load_pod<T>(bytes.data() + offset);
}

// The least multiple of `unit` that is not less than `size`.
constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;
// FNV-1a: all processes compute it alike. Not collision-resistant: never use it to authenticate. Parts are hashed one
// after the other.
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes,
                              std::uint64_t hash = kFnvStart) noexcept {
  for (const std::byte each : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3u;
  return hash;
}

}  // namespace lfc
