#include "link/tcp/routes.hpp"

#include "catch.hpp"

namespace lfc::tcp {
namespace {

Interface interface_of(const char* ip) {
  return {"eth", IpAddress::parse(ip).value(), 24, 0, true};
}

// The address of a process with one rail of this name and IP address.
std::vector<std::byte> published(const char* rail, const char* ip, std::uint64_t node,
                                 std::uint32_t rank) {
  Endpoint endpoint;
  endpoint.ip = IpAddress::parse(ip).value();
  endpoint.port = 5000;
  endpoint.prefix = 24;
  endpoint.node = node;
  AddressWriter writer({{1, rank}, 0x77u + rank, 8});
  writer.add(rail, section_of({endpoint}));
  return std::move(writer).finish();
}

Routes routes_of(const char* rail, const char* ip) {
  Routes routes(rail, interface_of(ip), {});
  Endpoint endpoint;
  endpoint.ip = IpAddress::parse(ip).value();
  endpoint.port = 4000;
  endpoint.prefix = 24;
  endpoint.node = 1;
  routes.listen_at(endpoint);
  return routes;
}

}  // namespace

TEST_CASE("tcp: a route leads from this rail's address to the peer's, and names its rail",
          "[tcp]") {
  Routes routes = routes_of("tcp", "10.0.0.1");
  routes.set_own_address(without_key(published("tcp", "10.0.0.1", 1, 0)));
  const Address peer = Address::parse(published("tcp", "10.0.0.2", 2, 1)).value();
  std::string why_not;
  const std::optional<Route> route = routes.to(peer, why_not);
  REQUIRE(route.has_value());
  CHECK(route->from == IpAddress::parse("10.0.0.1").value());
  CHECK(route->to.text() == "10.0.0.2:5000");
  CHECK(route->link == "tcp");
  CHECK_FALSE(route->why.empty());
}

TEST_CASE("tcp: without an address of tcp there is no route, and the reason is returned", "[tcp]") {
  const Routes routes = routes_of("tcp", "10.0.0.1");
  const Address peer = Address::parse(published("shm", "10.0.0.2", 2, 1)).value();
  std::string why_not;
  CHECK_FALSE(routes.to(peer, why_not).has_value());
  CHECK(why_not == "the peer has no tcp address");
  CHECK_FALSE(routes.reach(peer, why_not));
}

TEST_CASE("tcp: the second rail has no route to a peer that has one", "[tcp]") {
  Routes routes = routes_of("tcp1", "10.0.1.1");
  routes.set_own_address(without_key(published("tcp", "10.0.0.1", 1, 0)));
  const Address peer = Address::parse(published("tcp", "10.0.0.2", 2, 1)).value();
  std::string why_not;
  CHECK_FALSE(routes.to(peer, why_not).has_value());
}

}  // namespace lfc::tcp
