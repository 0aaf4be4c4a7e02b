// Routes: the choice of a rail's own address and of the peer's address for a connection. Both processes find the same
// pair from their published addresses (pairs.hpp).
//
//   Routes routes(name, interface, others);
//   routes.listen_at(endpoint);                             // one or more, published as the section of the rail's name
//   if (auto route = routes.to(peer_address, why_not)) connect(route->from, route->to.ip, route->to.port);
//
// Held by tests/unit/link/tcp/routes_test.cpp. Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/interfaces.hpp"
#include "link/tcp/endpoint.hpp"
#include "wire/address.hpp"

namespace lfc::tcp {

struct Route {
  IpAddress from;
  Endpoint to;
  std::string link;  // the peer's, that listens there
  std::string why;   // this pair: for the user
};

class Routes {
 public:
  // The rail of this name, on an interface that may have further addresses (`others`).
  Routes(std::string name, Interface interface, std::vector<Interface> others)
      : name_(std::move(name)), interface_(std::move(interface)), others_(std::move(others)) {}

  void listen_at(const Endpoint& endpoint) { endpoints_.push_back(endpoint); }
  const std::vector<Endpoint>& endpoints() const noexcept { return endpoints_; }
  // The published address of this process, with the sections of all its links.
  void set_own_address(std::span<const std::byte> address) {
    own_address_.assign(address.begin(), address.end());
  }
  const std::vector<std::byte>& own_address() const noexcept { return own_address_; }

  std::optional<Route> to(const Address& peer, std::string& why_not) const;
  // As to(), if the kernel has a route to the peer. Sends nothing.
  std::optional<Route> reach(const Address& peer, std::string& why_not) const;

 private:
  const std::string name_;
  const Interface interface_;
  const std::vector<Interface> others_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::byte> own_address_;
};

}  // namespace lfc::tcp
