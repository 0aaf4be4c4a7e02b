#include "c_api/message_routes.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"

namespace lfc::message_routes_test {
namespace {

struct Received {
  char by;
  const void* endpoint;
  std::uint32_t peer;
  std::uint8_t tag;
  std::string text;
  bool operator==(const Received&) const = default;
};

std::vector<Received> received;

template <char by>
void receive(void* endpoint, std::uint32_t peer, std::uint8_t tag, const void* data,
             std::size_t size) {
  received.push_back({by, endpoint, peer, tag, {static_cast<const char*>(data), size}});
}

}  // namespace

TEST_CASE("routes: a message of a diverted tag goes to its function, and all others to the host",
          "[c_api]") {
  received.clear();
  MessageRoutes routes;
  int endpoint = 0;
  routes.set_host(receive<'h'>);
  routes.divert(0, receive<'a'>);
  routes.divert(255, receive<'b'>);
  for (const std::uint8_t tag : {0, 1, 65, 254, 255}) routes.pass(&endpoint, 7, tag, "text", 4);
  CHECK(received == std::vector<Received>{{'a', &endpoint, 7, 0, "text"},
                                          {'h', &endpoint, 7, 1, "text"},
                                          {'h', &endpoint, 7, 65, "text"},
                                          {'h', &endpoint, 7, 254, "text"},
                                          {'b', &endpoint, 7, 255, "text"}});
}

TEST_CASE(
    "routes: the host receives the messages of a restored tag, and of all tags after set_host()",
    "[c_api]") {
  received.clear();
  MessageRoutes routes;
  routes.set_host(receive<'h'>);
  routes.divert(1, receive<'a'>);
  routes.divert(2, receive<'b'>);
  routes.restore(1);
  for (const std::uint8_t tag : {1, 2}) routes.pass(nullptr, 3, tag, "", 0);
  routes.set_host(receive<'i'>);
  routes.pass(nullptr, 3, 2, "", 0);
  CHECK(received == std::vector<Received>{{'h', nullptr, 3, 1, ""},
                                          {'b', nullptr, 3, 2, ""},
                                          {'i', nullptr, 3, 2, ""}});
}

}  // namespace lfc::message_routes_test
