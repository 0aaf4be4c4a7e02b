// Small arithmetic on bytes, written once.
//
//   std::optional<std::uint32_t> number = read_pod<std::uint32_t>(bytes);      // nullopt: they are fewer
//   std::uint32_t same = load_pod<std::uint32_t>(bytes.data());                // who has looked that they are enough
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

// The plain value that lies here, aligned or not.
template <class T>
T load_pod(const std::byte* bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof value);
  return value;
}

// The plain value that the bytes begin with, or hold from `offset` on.
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
// FNV-1a: a hash that all processes compute alike. Not for those who lie. Parts are hashed one after the other.
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes,
                              std::uint64_t hash = kFnvStart) noexcept {
  for (const std::byte each : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3u;
  return hash;
}

}  // namespace lfc
