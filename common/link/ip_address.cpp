#include "link/ip_address.hpp"

#include <arpa/inet.h>

#include <cstring>

namespace lfc {

std::optional<IpAddress> IpAddress::from(const sockaddr* address) noexcept {
  IpAddress ip;
  if (address == nullptr) return std::nullopt;
  ip.family = address->sa_family;
  if (ip.family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, address, sizeof four);
    std::memcpy(ip.bytes.data(), &four.sin_addr, 4);
    return ip;
  }
  if (ip.family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, address, sizeof six);
    std::memcpy(ip.bytes.data(), &six.sin6_addr, 16);
    ip.scope = six.sin6_scope_id;
    return ip;
  }
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::parse(const std::string& text) noexcept {
  IpAddress ip;
  for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}}) {
    ip.family = family;
    if (::inet_pton(family, text.c_str(), ip.bytes.data()) == 1) return ip;
  }
  return std::nullopt;
}

bool IpAddress::is_loopback() const noexcept {
  if (family == AF_INET) return bytes[0] == 127;
  in6_addr six;
  std::memcpy(&six, bytes.data(), sizeof six);
  return family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool IpAddress::is_link_local() const noexcept {
  if (family == AF_INET) return bytes[0] == 169 && bytes[1] == 254;
  return family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool IpAddress::in_subnet(const IpAddress& net, unsigned prefix) const noexcept {
  if (family != net.family || prefix > size() * 8) return false;
  const std::size_t whole = prefix / 8;
  if (std::memcmp(bytes.data(), net.bytes.data(), whole) != 0) return false;
  const unsigned rest = prefix % 8;
  return rest == 0 || (bytes[whole] ^ net.bytes[whole]) >> (8 - rest) == 0;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const char* text = ::inet_ntop(family, bytes.data(), buffer.data(), buffer.size());
  return text == nullptr ? "no address" : text;
}

socklen_t IpAddress::to_sockaddr(std::uint16_t port, sockaddr_storage& out) const noexcept {
  out = {};
  if (family == AF_INET) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, bytes.data(), 4);
    std::memcpy(&out, &four, sizeof four);
    return sizeof four;
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_scope_id = scope;
  std::memcpy(&six.sin6_addr, bytes.data(), 16);
  std::memcpy(&out, &six, sizeof six);
  return sizeof six;
}

}  // namespace lfc
