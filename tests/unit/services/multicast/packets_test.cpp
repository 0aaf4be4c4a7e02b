// Packets that wait or are kept, and the count of stored bytes.
#include "services/multicast/protocol/packets.hpp"

#include <array>
#include <cstddef>
#include <memory>

#include "base/limits.hpp"
#include "base/shared_bytes.hpp"
#include "catch.hpp"

using namespace lfc;

TEST_CASE("a packet owns its bytes until it is disposed of, or they stay their origin's",
          "[multicast]") {
  BytesPool pool(0);
  MulticastStats stats;
  MulticastPackets packets(stats);
  MulticastHeader header;
  header.number = 7;
  const std::array<std::byte, 100> bytes{std::byte{5}};
  MulticastPacket& kept = packets.make(3, header, pool.copy(bytes));
  CHECK((kept.header.number == 7 && kept.from == 3));
  REQUIRE(kept.bytes().size() == bytes.size());
  CHECK((kept.bytes().data() != bytes.data() && kept.bytes()[0] == std::byte{5}));
  MulticastPacket& own = packets.make(header, bytes);
  CHECK(own.bytes().data() == bytes.data());
  CHECK(packets.size() == 2);
  CHECK(stats.kept == 1);
  CHECK(pool.memory() != 0);
  packets.dispose(kept);
  CHECK(pool.memory() == 0);
  packets.dispose(own);
  CHECK(packets.size() == 0);
}

TEST_CASE("a packet is counted in its store once, until it is disposed of", "[multicast]") {
  BytesPool pool(0);
  MulticastStats stats;
  MulticastPackets packets(stats);
  const auto store = std::make_shared<MulticastStore>(2 * MulticastPacket::kCost);
  const std::array<std::byte, 100> bytes{};
  MulticastPacket& one = packets.make(0, {}, pool.copy(bytes));
  MulticastPacket& two = packets.make(0, {}, pool.copy(bytes));
  one.store = two.store = store;
  CHECK(packets.count(one));
  CHECK_FALSE(packets.count(one));
  CHECK(store->bytes == 100 + MulticastPacket::kCost);
  CHECK_FALSE(store->full());
  CHECK(packets.count(two));
  CHECK(store->full());
  CHECK(stats.stored == store->bytes);
  packets.discount(one);
  packets.discount(one);
  CHECK(store->bytes == 100 + MulticastPacket::kCost);
  packets.dispose(one);
  packets.dispose(two);
  CHECK(store->bytes == 0);
  CHECK(stats.stored == 0);
  CHECK(stats.most_stored == 2 * (100 + MulticastPacket::kCost));
}
