#include "link/tcp/endpoint.hpp"

#include <cstring>
#include <span>

namespace lfc::tcp {
namespace {

constexpr std::uint8_t kSixteen = 1;  // an IPv6 address follows, else four bytes
constexpr std::uint8_t kGateway = 2;
constexpr std::uint8_t kStandard = 4;
constexpr unsigned kStrand = 8;  // times its number

struct Head {
  std::uint16_t port;
  std::uint8_t flags;
  std::uint8_t prefix;
  std::uint32_t megabits;
  std::uint64_t node;
};
static_assert(sizeof(Head) == 16);

}  // namespace

std::string Endpoint::text() const {
  const std::string number = std::to_string(port);
  return ip.family == AF_INET6 ? "[" + ip.text() + "]:" + number : ip.text() + ":" + number;
}

std::vector<std::byte> section_of(const std::vector<Endpoint>& endpoints) {
  std::vector<std::byte> bytes;
  for (const Endpoint& endpoint : endpoints) {
    const int flags = (endpoint.ip.family == AF_INET6 ? kSixteen : 0) |
                      (endpoint.gateway ? kGateway : 0) | (endpoint.standard ? kStandard : 0) |
                      static_cast<int>(endpoint.strand * kStrand);
    const Head head{endpoint.port, static_cast<std::uint8_t>(flags),
                    static_cast<std::uint8_t>(endpoint.prefix), endpoint.megabits, endpoint.node};
    const auto fixed = std::as_bytes(std::span(&head, 1));
    const auto ip = std::as_bytes(std::span(endpoint.ip.bytes)).first(endpoint.ip.size());
    bytes.insert(bytes.end(), fixed.begin(), fixed.end());
    bytes.insert(bytes.end(), ip.begin(), ip.end());
  }
  return bytes;
}

std::vector<Endpoint> endpoints_of(const Address& address, std::string_view link) {
  std::span<const std::byte> rest = address.section(link);
  std::vector<Endpoint> endpoints;
  while (!rest.empty()) {
    Head head;
    if (rest.size() < sizeof head || endpoints.size() == kMostAddresses) return {};
    std::memcpy(&head, rest.data(), sizeof head);
    Endpoint& endpoint = endpoints.emplace_back();
    endpoint.ip.family = (head.flags & kSixteen) != 0 ? AF_INET6 : AF_INET;
    const std::size_t size = endpoint.ip.size();
    if (rest.size() < sizeof head + size || head.port == 0 || head.prefix > size * 8 ||
        head.flags >= kStrand * kMostStrands)
      return {};
    std::memcpy(endpoint.ip.bytes.data(), rest.data() + sizeof head, size);
    endpoint.port = head.port;
    endpoint.prefix = head.prefix;
    endpoint.megabits = head.megabits;
    endpoint.gateway = (head.flags & kGateway) != 0;
    endpoint.standard = (head.flags & kStandard) != 0;
    endpoint.node = head.node;
    endpoint.strand = head.flags / kStrand;
    rest = rest.subspan(sizeof head + size);
  }
  return endpoints;
}

}  // namespace lfc::tcp
