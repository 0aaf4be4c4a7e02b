// IpAddress: an IPv4 or IPv6 address without a port.
//
//   if (auto address = IpAddress::parse("10.77.0.1")) length = address->to_sockaddr(5000, storage);
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

struct IpAddress {
  sa_family_t family = AF_UNSPEC;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  std::uint32_t scope = 0;               // device index, for IPv6 link-local addresses on this node

  static std::optional<IpAddress> from(const sockaddr* address) noexcept;
  static std::optional<IpAddress> parse(const std::string& text) noexcept;

  std::size_t size() const noexcept { return family == AF_INET ? 4 : 16; }
  bool is_loopback() const noexcept;
  bool is_link_local() const noexcept;
  // True when the first `prefix` bits are the same.
  bool in_subnet(const IpAddress& net, unsigned prefix) const noexcept;
  std::string text() const;
  // Fills `out` for bind() or connect(); returns its length.
  socklen_t to_sockaddr(std::uint16_t port, sockaddr_storage& out) const noexcept;

  friend bool operator==(const IpAddress& a, const IpAddress& b) noexcept {
    return a.family == b.family && a.bytes == b.bytes;
  }
};

}  // namespace lfc
