// The buffers of packets that wait or are kept, and the count of stored bytes.
#include "services/multicast/protocol/packets.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"

using namespace lfc;

TEST_CASE("a packet is its header's and bytes' copy, in at most a quarter more", "[multicast]") {
  MulticastStats stats;
  MulticastPackets packets(stats);
  MulticastHeader header;
  header.number = 7;
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 511u, 512u, 513u, 4000u, 65537u}) {
    std::vector<std::byte> bytes(size, std::byte{5});
    MulticastPacket& packet = packets.copy(3, header, bytes);
    bytes.assign(size, std::byte{6});
    CHECK(packet.header.number == 7);
    CHECK(packet.from == 3);
    REQUIRE(packet.bytes().size() == size);
    for (const std::byte byte : packet.bytes()) REQUIRE(byte == std::byte{5});
    CHECK(packet.capacity >= size);
    CHECK(packet.capacity <= size + size / 4 + 64);
    packets.dispose(packet);
  }
  CHECK(packets.size() == 0);
  CHECK(stats.copied == 10);
}

TEST_CASE("a buffer serves the next packet of its size, and the spare bytes are bounded",
          "[multicast]") {
  MulticastStats stats;
  MulticastPackets packets(stats);
  MulticastPacket* const first = &packets.make(1000);
  packets.dispose(*first);
  MulticastPacket* const second = &packets.make(990);
  CHECK(second == first);
  CHECK(packets.spare_bytes() == 0);
  packets.dispose(*second);
  std::vector<MulticastPacket*> many;
  const std::size_t size = 65536;
  for (std::size_t bytes = 0; bytes < 2 * limits::kMulticastSpares; bytes += size)
    many.push_back(&packets.make(size));
  CHECK(packets.size() == many.size());
  for (MulticastPacket* packet : many) packets.dispose(*packet);
  CHECK(packets.size() == 0);
  CHECK(packets.spare_bytes() <= limits::kMulticastSpares);
}

TEST_CASE("a packet is counted in its store once, until it is disposed of", "[multicast]") {
  MulticastStats stats;
  MulticastPackets packets(stats);
  const auto store = std::make_shared<MulticastStore>(2 * MulticastPacket::kCost);
  const std::array<std::byte, 100> bytes{};
  MulticastPacket& one = packets.copy(0, {}, bytes);
  MulticastPacket& two = packets.copy(0, {}, bytes);
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
