#include "link/tcp/endpoint.hpp"

#include <cstring>
#include <span>

namespace lfc::tcp {
namespace {

struct SectionHead {
  std::uint16_t port;
  std::uint8_t address_size;  // 4 or 16; the address follows
  std::uint8_t reserved;
  std::uint32_t megabits;
  std::uint64_t host;
};
static_assert(sizeof(SectionHead) == 16);

}  // namespace

std::string Endpoint::text() const {
  const std::string number = std::to_string(port);
  return ip.family == AF_INET6 ? "[" + ip.text() + "]:" + number : ip.text() + ":" + number;
}

std::vector<std::byte> section_of(const Endpoint& endpoint) {
  const std::size_t size = endpoint.ip.size();
  const SectionHead head{endpoint.port, static_cast<std::uint8_t>(size), 0, endpoint.megabits,
                         endpoint.host};
  std::vector<std::byte> bytes(sizeof head + size);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, endpoint.ip.bytes.data(), size);
  return bytes;
}

std::optional<Endpoint> endpoint_of(const Address& address, std::string_view link) {
  const std::span<const std::byte> section = address.section(link);
  SectionHead head;
  if (section.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, section.data(), sizeof head);
  const bool known_size = head.address_size == 4 || head.address_size == 16;
  if (!known_size || section.size() != sizeof head + head.address_size || head.port == 0)
    return std::nullopt;
  Endpoint endpoint{{}, head.port, head.megabits, head.host};
  endpoint.ip.family = head.address_size == 4 ? AF_INET : AF_INET6;
  std::memcpy(endpoint.ip.bytes.data(), section.data() + sizeof head, head.address_size);
  return endpoint;
}

}  // namespace lfc::tcp
