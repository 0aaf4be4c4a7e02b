// The message that a member broadcasts, cut into packets.
#include "services/ordered/protocol/outgoing.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "catch.hpp"
#include "services/ordered/protocol/fault.hpp"

using namespace lfc;

TEST_CASE("a message goes out in full packets under numbers in a row, the last of which is short",
          "[ordered]") {
  struct Packet {
    std::uint64_t number, following;
    std::size_t begin, size;
    bool operator==(const Packet&) const = default;
  };
  std::vector<std::byte> bytes(200);
  Outgoing out;
  CHECK_FALSE(out.busy());
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 128u, 200u}) {
    out.begin(std::span(bytes).first(size));
    CHECK(out.busy());
    CHECK(out.requesting());
    std::vector<Packet> sent;
    REQUIRE(out.go(40, 64, [&](std::uint64_t number, std::uint64_t following, auto part) {
      sent.push_back(
          {number, following, static_cast<std::size_t>(part.data() - bytes.data()), part.size()});
      return true;
    }));
    const std::uint64_t count = Outgoing::packets(size, 64);
    REQUIRE(sent.size() == count);
    for (std::uint64_t k = 0; k < count; ++k)
      CHECK(sent[k] ==
            Packet{40 + k, count - 1 - k, 64 * k, k + 1 < count ? 64 : size - 64 * (count - 1)});
    CHECK(out.number() == 40);
    CHECK_FALSE(out.busy());
  }
}

TEST_CASE("a message is busy while its request is under way or one of its packets waits",
          "[ordered]") {
  Outgoing out;
  out.begin({});
  out.give_up();
  CHECK_FALSE(out.busy());
  out.begin({});
  CHECK(out.go(0, 64, [&](auto...) {
    ++out.unsent();
    return true;
  }));
  CHECK_FALSE(out.requesting());
  CHECK(out.busy());
  --out.unsent();
  CHECK_FALSE(out.busy());
}

TEST_CASE("a packet that cannot be sent ends its message", "[ordered]") {
  std::vector<std::byte> bytes(200);
  Outgoing out;
  out.begin(bytes);
  int sent = 0;
  CHECK_FALSE(out.go(0, 64, [&](auto...) { return ++sent < 2; }));
  CHECK(sent == 2);
  CHECK_FALSE(out.busy());
}

TEST_CASE("the first reason for which an order has ended stays", "[ordered]") {
  OrderFaultOnce fault;
  CHECK(fault.get() == OrderFault::none);
  fault.raise(OrderFault::protocol);
  fault.raise(OrderFault::lost);
  CHECK(fault.get() == OrderFault::protocol);
}
