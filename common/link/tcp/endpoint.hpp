// Endpoint: the published data of one address of one rail of the link tcp: where the rail listens, on which node, and
// the properties by which it pairs with an endpoint of a peer (pairs.hpp). A rail has up to kMostAddresses.
//
//   writer.add("tcp1", section_of(endpoints));
//   for (const Endpoint& endpoint : endpoints_of(peer_address, "tcp1"))   // none: no such rail, or it is malformed
//     complain("cannot reach " + endpoint.text());                       // "10.77.0.1:5000", "[fd00::1]:5000"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/interfaces.hpp"
#include "wire/address.hpp"

namespace lfc::tcp {

struct Endpoint {
  IpAddress ip;
  std::uint16_t port = 0;
  unsigned prefix = 0;         // bits of the network part
  std::uint32_t megabits = 0;  // the interface's speed, 0 when unknown
  bool gateway = false;        // the interface leads to some gateway
  bool standard = false;       // it has the default route
  std::uint64_t node = 0;      // node_tag()
  unsigned strand = 0;  // which connection of several between the same addresses; 0: the first

  std::string text() const;
};

inline constexpr unsigned kMostStrands = 8;

std::vector<std::byte> section_of(const std::vector<Endpoint>& endpoints);
std::vector<Endpoint> endpoints_of(const Address& address, std::string_view link);

}  // namespace lfc::tcp
