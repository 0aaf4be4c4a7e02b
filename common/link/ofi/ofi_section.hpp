// OfiSection: the section of the libfabric link in a process's address.
//
//   const std::optional<OfiSection> there = OfiSection::parse(address.section("ofi"));
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lfc {

struct OfiSection {
  // Then the provider's name, then its address.
  struct Head {
    std::uint64_t node;
    std::uint32_t frame_size;
    std::uint16_t provider_size;
    std::uint16_t address_size;
  };
  Head head;
  std::string_view provider;
  std::span<const std::byte> address;

  static std::optional<OfiSection> parse(std::span<const std::byte> bytes) noexcept {
    OfiSection section{};
    if (bytes.size() < sizeof section.head) return std::nullopt;
    std::memcpy(&section.head, bytes.data(), sizeof section.head);
    bytes = bytes.subspan(sizeof section.head);
    if (bytes.size() != std::size_t{section.head.provider_size} + section.head.address_size)
      return std::nullopt;
    section.provider = {reinterpret_cast<const char*>(bytes.data()), section.head.provider_size};
    section.address = bytes.subspan(section.head.provider_size);
    return section;
  }
  static std::vector<std::byte> write(std::uint64_t node, std::size_t frame_size,
                                      std::string_view provider,
                                      std::span<const std::byte> address) {
    const Head head{node, static_cast<std::uint32_t>(frame_size),
                    static_cast<std::uint16_t>(provider.size()),
                    static_cast<std::uint16_t>(address.size())};
    std::vector<std::byte> section(sizeof head + provider.size() + address.size());
    std::memcpy(section.data(), &head, sizeof head);
    std::memcpy(section.data() + sizeof head, provider.data(), provider.size());
    std::memcpy(section.data() + sizeof head + provider.size(), address.data(), address.size());
    return section;
  }
};

}  // namespace lfc
