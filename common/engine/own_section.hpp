// Own section: the part of a process's published address that the engine fills itself. It has the largest payload that
// the engine accepts.
//
//   write_own_section(writer, peers.max_payload());
//   std::size_t largest = max_payload_of(address);           // of another process
//
// Held by tests/unit/engine/ni_test.cpp. Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "wire/address.hpp"

namespace lfc {

inline constexpr std::string_view kOwnSection = "ni";

inline void write_own_section(AddressWriter& writer, std::size_t max_payload) {
  const auto largest = static_cast<std::uint32_t>(max_payload);
  writer.add(kOwnSection, std::as_bytes(std::span(&largest, 1)));
}

// Returns the payload bytes of the largest frame that the owner of this address takes; 0: the section is malformed.
inline std::size_t max_payload_of(const Address& address) noexcept {
  std::uint32_t largest = 0;
  const std::span<const std::byte> section = address.section(kOwnSection);
  if (section.size() == sizeof largest) std::memcpy(&largest, section.data(), sizeof largest);
  return largest;
}

}  // namespace lfc
