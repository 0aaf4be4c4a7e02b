// How connections of the link tcp end, and many connections at once.
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/tcp/stream.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

TEST_CASE("tcp: a peer that breaks the protocol is broken once, others unaffected", "[tcp]") {
  Node a(0);
  Node b(1);
  const PeerId good = b.connect(a);
  send_all({&a, &b}, b, good, {FrameType::message}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 1; });
  Bytes memory(8 << 20);
  LinkRegion region;
  REQUIRE(a.link->register_memory(memory.data(), memory.size(), region));

  const auto message = static_cast<tcp::Kind>(FrameType::message);
  const auto frame = [](tcp::Kind kind, const Bytes& payload, std::uint8_t sequence = 0) {
    return frame_bytes({static_cast<std::uint32_t>(payload.size()), kind, 0, 0}, sequence, payload);
  };
  const auto bulk = [&](std::uint64_t left, std::uint64_t key = 0, std::uint64_t address = 0,
                        std::size_t bytes = 0) {
    return bytes_of(tcp::BulkHead{{0, 1}, key, address, left}, bytes);
  };
  std::vector<Bytes> crimes{
      Bytes(8),
      frame(message, Bytes(16), 1),                         // a frame is missing
      frame(0, {}),                                         // no such kind
      frame(static_cast<tcp::Kind>(FrameType::hello), {}),  // not now
      frame(static_cast<tcp::Kind>(FrameType::last_) + 1, {}),
      frame(255, {}),
      frame(message, Bytes(a.link->max_message() + 1)),
      frame(static_cast<tcp::Kind>(FrameType::atomic), Bytes(a.link->max_payload() + 1)),
      frame(tcp::kGoodbye, Bytes(8)),
      frame(tcp::kGet, Bytes(31)),
      frame(tcp::kGet, bulk(0)),
      frame(tcp::kReply, bytes_of(tcp::Reply{{0, 1}, 0, 0})),  // acknowledges nothing
      frame(tcp::kReply, bytes_of(tcp::Reply{{0, 1}, 77, 0})),
      frame(tcp::kGetData, bulk(8, 0, 0, 8)),                 // no get was started
      frame(tcp::kPut, bulk(8)),                              // no bytes
      frame(tcp::kPut, bulk(7, region.key, region.base, 8)),  // more bytes than `left`
  };
  Random random(11);
  for (int i = 0; i < 20; ++i) crimes.push_back(random_bytes(random, 16 + random() % 500));
  Bytes endless;  // more gets than permitted, and the sender reads no reply
  for (std::uint32_t i = 0; i <= 2 * limits::kTcpGets; ++i) {
    const Bytes one = frame(tcp::kGet, bulk(memory.size(), region.key, region.base),
                            static_cast<std::uint8_t>(i));
    endless.insert(endless.end(), one.begin(), one.end());
  }
  crimes.push_back(endless);
  for (std::size_t i = 0; i < crimes.size(); ++i) {
    const Identity who{{9, static_cast<std::uint32_t>(i)}, 5, 8};
    RawPeer criminal(a);
    criminal.write(hello(a.identity, blob_of(who)));
    const int connects = a.connects;
    pump({&a, &b}, [&] { return a.connects == connects + 1; });
    criminal.write(crimes[i]);
    INFO("crime " << i);
    pump({&a, &b}, [&] { return a.broken.size() == i + 1; });
    CHECK(a.broken[i].first == a.ids.at(who.name.packed()));
    CHECK(a.send(a.broken[i].first, {FrameType::message}, Bytes(8)) == SendStatus::broken);
  }
  pump_for({&a, &b}, 10ms);
  CHECK(a.broken.size() == crimes.size());
  CHECK(a.counters.get(Counter::frames_dropped) == crimes.size());
  CHECK(a.frames.size() == 1);
  CHECK((memory == Bytes(memory.size())));

  send_all({&a, &b}, b, good, {FrameType::message}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 2; });
}

TEST_CASE("tcp: a peer that ends in the middle of a frame is broken once", "[tcp]") {
  Node a(0);
  const bool in_a_put = GENERATE(false, true);
  Bytes memory(1 << 20);
  LinkRegion region;
  REQUIRE(a.link->register_memory(memory.data(), memory.size(), region));
  RawPeer peer(a);
  peer.write(hello(a.identity, blob_of({{9, 1}, 5, 8})));
  pump({&a}, [&] { return a.connects == 1; });
  Bytes bytes =
      in_a_put
          ? frame_bytes({32 + 200'000, tcp::kPut, 0, 0}, 0,
                        bytes_of(tcp::BulkHead{{0, 1}, region.key, region.base, 200'000}, 200'000))
          : frame_bytes({50'000, static_cast<tcp::Kind>(FrameType::message), 0, 0}, 0,
                        Bytes(50'000));
  bytes.resize(bytes.size() / 2);
  peer.write(bytes);
  pump_for({&a}, 5ms);
  CHECK(a.broken.empty());
  peer.leave();
  pump({&a}, [&] { return !a.broken.empty(); });
  pump_for({&a}, 5ms);
  CHECK(a.broken.size() == 1);
  CHECK(a.frames.empty());
  INFO(a.broken[0].second);
  for (const char* part : {"127.0.0.1", ", last heard 0.", "without MPI_Finalize?"})
    CHECK(a.broken[0].second.find(part) != std::string::npos);
}

TEST_CASE("tcp: close delivers what was sent, and a peer can come back", "[tcp]") {
  const bool tiny = GENERATE(false, true);
  Node a(0, tiny ? tiny_buffers() : loopback());
  Node b(1, tiny ? tiny_buffers() : loopback());
  a.keeping = GENERATE(Batch::no, Batch::turn);
  int expected = 0;
  for (int round = 0; round < 5; ++round) {
    const PeerId ab = a.connect(b);
    for (int i = 0; i < 30; ++i, ++expected)
      send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(5000));
    a.link->close(ab);
    CHECK(a.send(ab, {FrameType::message}, Bytes(8)) == SendStatus::broken);
    // At once, while the old connection still closes.
    if (round % 2 == 0) pump({&a, &b}, [&] { return b.received == expected; });
  }
  pump({&a, &b}, [&] { return b.received == expected; });
  CHECK(a.broken.empty());
  CHECK(b.broken.empty());
  pump({&a, &b}, [&] {
    return b.send(b.id_of(a.address()), {FrameType::message}, Bytes(8)) == SendStatus::broken;
  });
  CHECK(a.counters.get(Counter::frames_dropped) + b.counters.get(Counter::frames_dropped) == 0);
}

TEST_CASE("tcp: an orderly end of the process is no loss", "[tcp]") {
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const PeerId ba = b->connect(a);
  send_all({&a, b.get()}, *b, ba, {FrameType::message}, Bytes(8));
  for (int i = 0; i < 50; ++i) send_all({&a, b.get()}, *b, ba, {FrameType::message}, Bytes(1000));
  b.reset();
  pump({&a}, [&] { return a.received == 51; });
  pump_for({&a}, 5ms);
  CHECK(a.broken.empty());
}

TEST_CASE("tcp: bytes that are unwritten at the end of the process are still sent", "[tcp]") {
  Node a(0);
  auto b = std::make_unique<Node>(1, tiny_buffers());
  b->keeping = GENERATE(Batch::no, Batch::turn);
  const PeerId ba = b->connect(a);
  send_all({&a, b.get()}, *b, ba, {FrameType::message}, Bytes(8));
  int sent = 1;
  // Sockets are full and a frame waits. The node polls until the link retries less often. The kernel may find room
  // late, so this is repeated.
  for (int attempt = 0; attempt < 100 && (attempt == 0 || b->link->drained()); ++attempt) {
    for (int refused = 0; refused < 1000; ++refused) {
      if (b->send(ba, {FrameType::message}, Bytes(1000)) == SendStatus::sent) {
        ++sent;
        refused = 0;
      }
      b->link->poll();
    }
    REQUIRE(b->send(ba, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
    ++sent;
    for (int i = 0; i < 100; ++i) b->link->poll();
  }
  REQUIRE_FALSE(b->link->drained());
  std::thread end([&] { b.reset(); });
  pump({&a}, [&] { return a.received == sent || !a.broken.empty(); });
  end.join();
  CHECK(a.received == sent);
  CHECK(a.broken.empty());
}

TEST_CASE("tcp: many peers, few of them talking", "[tcp]") {
  const std::size_t before = open_descriptors();
  {
    Node hub(0);
    std::vector<std::unique_ptr<Node>> others;
    std::vector<PeerId> up;
    for (std::uint32_t i = 1; i <= 24; ++i) {
      others.push_back(std::make_unique<Node>(i));
      up.push_back(others.back()->connect(hub));
    }
    const auto poll_all = [&] {
      hub.link->poll();
      for (const auto& other : others) other->link->poll();
    };
    Random random(21);
    int sent = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::size_t who = random() % others.size();
      const Bytes payload = random_bytes(random, random() % 200);
      pump({}, [&] {
        poll_all();
        return others[who]->send(up[who], {FrameType::message}, payload) == SendStatus::sent;
      });
      ++sent;
    }
    pump({}, [&] {
      poll_all();
      return hub.received == sent;
    });
    // And in reverse, to each.
    for (const auto& other : others)
      REQUIRE(hub.send(hub.id_of(other->address()), {FrameType::message}, Bytes(8)) ==
              SendStatus::sent);
    for (const auto& other : others)
      pump({&hub, other.get()}, [&] { return other->received == 1; });
    CHECK(hub.broken.empty());
    CHECK(open_descriptors() > before + 48);
  }
  CHECK(open_descriptors() == before);
}

}  // namespace lfc::tcp_world
