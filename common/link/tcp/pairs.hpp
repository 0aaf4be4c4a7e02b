// Pairs: which address of a peer each rail of the link tcp talks to. Interfaces of one subnet belong together, then
// those that gateways connect; never those of equal addresses on two nodes, whose networks are each node's own
// (192.168.122.1 of virbr0). The fastest pair leads, among equals that of the default route, then the order of the
// rails. Pairs slower than a quarter of the best are left out. A further connection between two addresses
// (Endpoint::strand) pairs with the peer's of the same number, after all others.
//
//   const Rails ours = published_rails(own_address), theirs = published_rails(peer_address);
//   for (const Pair& pair : pair_rails(ours, theirs).pairs)                    // the leading one first
//     connect(ours[pair.ours][pair.from], theirs[pair.theirs][pair.to]);
//
// Pure functions, and symmetric: pair_rails(theirs, ours) finds the same pairs in the same order.
// Held by tests/unit/link/tcp/pairs_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/pairing.hpp"
#include "link/tcp/endpoint.hpp"

namespace lfc::tcp {

using Rails = std::vector<std::vector<Endpoint>>;  // the endpoints of each

struct Pair {
  std::uint8_t ours;
  std::uint8_t theirs;
  std::uint8_t from;  // which endpoint of ours
  std::uint8_t to;
  std::string why;  // for the user
};
struct Pairs {
  std::vector<Pair> pairs;
  std::vector<RailLeftOut> left_out;
};
Pairs pair_rails(const Rails& ours, const Rails& theirs);

// Rails are named "tcp", "tcp1", ...
std::string rail_name(std::size_t number);
std::size_t rail_number(std::string_view name);
Rails published_rails(const Address& address);
// For the bond.
Pairing pair_addresses(const Address& own, const Address& peer);

}  // namespace lfc::tcp
