// Remote memory over the link tcp.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "catch.hpp"
#include "flight.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

TEST_CASE("tcp: put and get of every size, between frames", "[tcp]") {
  const bool tiny = GENERATE(false, true);
  Node a(0, tiny ? tiny_buffers() : loopback());
  Node b(1, tiny ? tiny_buffers() : loopback());
  const PeerId ab = a.connect(b);
  REQUIRE(a.link->remote_memory(ab));
  Random random(3);
  const std::size_t biggest = (tiny ? 1 : 16) << 20;
  Bytes theirs = random_bytes(random, biggest + 64);
  Bytes mine(biggest + 64);
  LinkRegion region;
  REQUIRE(b.link->register_memory(theirs.data(), theirs.size(), region));
  CHECK(region.base == reinterpret_cast<std::uint64_t>(theirs.data()));
  std::vector<std::size_t> sizes{0,    1,     7,       8,       9,       63,
                                 4095, 65536, 100'001, 262'144, 262'145, 524'288};
  for (int i = 0; i < 10; ++i) sizes.push_back(random() % 700'000);
  sizes.push_back(biggest);
  int frames = 0;
  for (const std::size_t size : sizes) {
    const std::size_t offset = random() % 64;
    INFO("size " << size << " offset " << offset);
    const auto run = [&](bool is_put) {
      Flight operation;
      Link::Start start = Link::Start::again;
      pump({&a, &b}, [&] {
        start =
            is_put
                ? a.link->put(ab, mine.data(), {}, region.base + offset, region, size, &operation)
                : a.link->get(ab, mine.data(), {}, region.base + offset, region, size, &operation);
        return start != Link::Start::again;
      });
      // A frame sent now overtakes the rest of the transfer.
      send_all({&a, &b}, a, ab, {FrameType::message, 9}, Bytes(100));
      ++frames;
      if (size == 0) {
        REQUIRE(start == Link::Start::done);
        REQUIRE(operation.calls == 0);
        return;
      }
      REQUIRE(start == Link::Start::started);
      pump({&a, &b}, [&] { return operation.calls != 0; });
      REQUIRE(operation.calls == 1);
      REQUIRE(operation.result == Result::ok);
    };
    const auto same = [&] { return std::memcmp(mine.data(), theirs.data() + offset, size) == 0; };
    run(false);
    REQUIRE(same());
    const Bytes before = theirs;
    mine = random_bytes(random, mine.size());
    run(true);
    REQUIRE(same());
    // No byte beside it was changed.
    REQUIRE(std::memcmp(before.data(), theirs.data(), offset) == 0);
    REQUIRE(std::memcmp(before.data() + offset + size, theirs.data() + offset + size,
                        theirs.size() - offset - size) == 0);
  }
  pump({&a, &b}, [&] { return b.received == frames; });
  CHECK(a.broken.empty());
  CHECK(b.broken.empty());
}

TEST_CASE("tcp: many puts and gets at once in both directions", "[tcp]") {
  Node a(0);
  Node b(1);
  const PeerId ab = a.connect(b);
  send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(8));
  pump({&a, &b}, [&] { return b.received == 1; });
  const PeerId ba = b.id_of(a.address());
  Random random(5);
  constexpr std::size_t kPiece = 40'000;
  constexpr std::size_t kPieces = 200;
  struct Side {
    Node& node;
    PeerId peer;
    Bytes memory;       // accessed by the other side
    Bytes destination;  // of gets
    LinkRegion region{};
    std::vector<Flight> operations{2 * kPieces};
  };
  Side sides[2] = {{a, ab, random_bytes(random, kPiece * kPieces * 2), Bytes(kPiece * kPieces)},
                   {b, ba, random_bytes(random, kPiece * kPieces * 2), Bytes(kPiece * kPieces)}};
  for (Side& side : sides)
    REQUIRE(side.node.link->register_memory(side.memory.data(), side.memory.size(), side.region));
  const Bytes source = random_bytes(random, kPiece * kPieces);
  // The first half of each memory is read, the second half written.
  for (std::size_t i = 0; i < kPieces; ++i) {
    for (int s = 0; s < 2; ++s) {
      Side& me = sides[s];
      const Side& other = sides[1 - s];
      const std::size_t at = i * kPiece;
      pump({&a, &b}, [&] {
        return me.node.link->get(me.peer, me.destination.data() + at, {}, other.region.base + at,
                                 other.region, kPiece,
                                 &me.operations[2 * i]) == Link::Start::started;
      });
      pump({&a, &b}, [&] {
        return me.node.link->put(me.peer, source.data() + at, {},
                                 other.region.base + kPiece * kPieces + at, other.region, kPiece,
                                 &me.operations[2 * i + 1]) == Link::Start::started;
      });
    }
  }
  const auto finished = [&] {
    for (const Side& side : sides)
      for (const Flight& operation : side.operations)
        if (operation.calls == 0) return false;
    return true;
  };
  pump({&a, &b}, finished);
  for (int s = 0; s < 2; ++s) {
    for (const Flight& operation : sides[s].operations) {
      REQUIRE(operation.calls == 1);
      REQUIRE(operation.result == Result::ok);
    }
    const Bytes& other = sides[1 - s].memory;
    CHECK(std::memcmp(sides[s].destination.data(), other.data(), kPiece * kPieces) == 0);
    CHECK(std::memcmp(source.data(), other.data() + kPiece * kPieces, kPiece * kPieces) == 0);
  }
}

TEST_CASE("tcp: memory that is not registered is neither read nor written", "[tcp]") {
  Node a(0);
  Node b(1);
  const PeerId ab = a.connect(b);
  send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(8));
  Random random(8);
  const std::size_t size = GENERATE(std::size_t{100}, std::size_t{1'000'000});
  Bytes theirs(size);
  Bytes mine = random_bytes(random, size);
  const Bytes before = mine;
  LinkRegion region;
  REQUIRE(b.link->register_memory(theirs.data(), theirs.size(), region));
  LinkRegion stale = region;
  {
    Bytes gone(64);
    REQUIRE(b.link->register_memory(gone.data(), gone.size(), stale));
    LinkRegion copy = stale;
    b.link->deregister_memory(copy);
  }
  struct Case {
    std::uint64_t key;
    std::uint64_t address;
    std::size_t size;
  };
  const std::vector<Case> cases{
      {region.key + (std::uint64_t{1} << 32), region.base, size},  // another generation
      {region.key + 1, region.base, size},                         // another slot
      {region.key + 1000, region.base, size},                      // no slot
      {region.key, region.base - 8, size},
      {region.key, region.base + 8, size},  // beyond the end
      {region.key, region.base + size, 8},
      {region.key, ~std::uint64_t{7}, 16},  // wraps around
      {stale.key, stale.base, 64},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO("case " << i);
    LinkRegion forged;
    forged.key = cases[i].key;
    for (const bool is_put : {true, false}) {
      Flight operation;
      const Link::Start start = is_put ? a.link->put(ab, mine.data(), {}, cases[i].address, forged,
                                                     cases[i].size, &operation)
                                       : a.link->get(ab, mine.data(), {}, cases[i].address, forged,
                                                     cases[i].size, &operation);
      REQUIRE(start == Link::Start::started);
      pump({&a, &b}, [&] { return operation.calls != 0; });
      CHECK(operation.calls == 1);
      CHECK(operation.result == Result::bad_address);
    }
  }
  CHECK(mine == before);
  // A put that begins inside and ends outside may have written the inside, but nothing else. The link still works.
  Flight good;
  REQUIRE(a.link->put(ab, mine.data(), {}, region.base, region, size, &good) ==
          Link::Start::started);
  pump({&a, &b}, [&] { return good.calls != 0; });
  CHECK(good.result == Result::ok);
  CHECK(theirs == mine);
  CHECK(a.broken.empty());
  CHECK(b.broken.empty());
}

TEST_CASE("tcp: memory deregistered in the middle of a transfer", "[tcp]") {
  Node a(0, tiny_buffers());
  Node b(1, tiny_buffers());
  const PeerId ab = a.connect(b);
  send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(8));
  const bool is_put = GENERATE(false, true);
  Bytes theirs(4 << 20, std::byte{1});
  Bytes mine(theirs.size(), std::byte{2});
  LinkRegion region;
  REQUIRE(b.link->register_memory(theirs.data(), theirs.size(), region));
  LinkRegion remote = region;
  Flight operation;
  const Link::Start start =
      is_put ? a.link->put(ab, mine.data(), {}, remote.base, remote, mine.size(), &operation)
             : a.link->get(ab, mine.data(), {}, remote.base, remote, mine.size(), &operation);
  REQUIRE(start == Link::Start::started);
  for (int i = 0; i < 200; ++i) {
    a.link->poll();
    b.link->poll();
  }
  REQUIRE(operation.calls == 0);
  b.link->deregister_memory(region);
  theirs = Bytes(theirs.size(), std::byte{3});
  pump({&a, &b}, [&] { return operation.calls != 0; });
  CHECK(operation.result == Result::bad_address);
  CHECK(theirs == Bytes(theirs.size(), std::byte{3}));
  CHECK(std::find(mine.begin(), mine.end(), std::byte{3}) == mine.end());
  send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(8));
  pump({&a, &b}, [&] { return b.received == 2; });
  CHECK(a.broken.empty());
}

TEST_CASE("tcp: operations end when their peer does", "[tcp]") {
  Node a(0, tiny_buffers());
  auto b = std::make_unique<Node>(1, tiny_buffers());
  const PeerId ab = a.connect(*b);
  send_all({&a, b.get()}, a, ab, {FrameType::message}, Bytes(8));
  Bytes theirs(1 << 20);
  Bytes mine(theirs.size());
  LinkRegion region;
  REQUIRE(b->link->register_memory(theirs.data(), theirs.size(), region));
  Flight get;
  Flight put;
  REQUIRE(a.link->get(ab, mine.data(), {}, region.base, region, mine.size(), &get) ==
          Link::Start::started);
  REQUIRE(a.link->put(ab, mine.data(), {}, region.base, region, mine.size(), &put) ==
          Link::Start::started);
  const bool we_close = GENERATE(false, true);
  if (we_close) {
    a.link->close(ab);
  } else {
    b.reset();
  }
  pump({&a}, [&] { return get.calls + put.calls == 2; });
  CHECK(get.calls == 1);
  CHECK(put.calls == 1);
  CHECK(get.result == Result::unreachable);
  CHECK(put.result == Result::unreachable);
  pump_for({&a}, 5ms);
  CHECK(get.calls + put.calls == 2);
  CHECK(a.link->put(ab, mine.data(), {}, region.base, region, 8, &put) == Link::Start::failed);
}

}  // namespace lfc::tcp_world
