// Endpoint: what a process publishes of one rail of the link tcp: where it listens, and on which host.
//
//   writer.add("tcp1", section_of({ip, port, megabits, host_tag()}));
//   std::optional<Endpoint> endpoint = endpoint_of(peer_address, "tcp1");    // empty: it has none, or it makes no sense
//   complain("cannot reach " + endpoint->text());                            // "10.77.0.1:5000", "[fd00::1]:5000"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/interfaces.hpp"
#include "wire/address.hpp"

namespace lfc::tcp {

struct Endpoint {
  IpAddress ip;
  std::uint16_t port = 0;
  std::uint32_t megabits = 0;  // the interface's speed, 0 when unknown
  std::uint64_t host = 0;      // host_tag()

  std::string text() const;
};

// A connection with it, in words.
inline std::string ends_of(const Endpoint& peer, const IpAddress& from) {
  return peer.text() + " from " + from.text();
}

std::vector<std::byte> section_of(const Endpoint& endpoint);
std::optional<Endpoint> endpoint_of(const Address& address, std::string_view link);

}  // namespace lfc::tcp
