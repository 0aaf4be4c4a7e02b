// Frames over the link tcp, and connections as they are made.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/tcp/stream.hpp"
#include "link/tcp/tcp_link.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

TEST_CASE("tcp: the frame prefix notices every single-bit error", "[tcp]") {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const tcp::Prefix prefix{static_cast<std::uint32_t>(random() & 0xffffff),
                             static_cast<tcp::Kind>(random()), static_cast<std::uint8_t>(random()),
                             static_cast<std::uint8_t>(random())};
    const auto sequence = static_cast<std::uint8_t>(random());
    const std::uint64_t word = tcp::encode_prefix(prefix, sequence);
    tcp::Prefix out;
    REQUIRE(tcp::decode_prefix(word, sequence, out));
    REQUIRE(out.length == prefix.length);
    REQUIRE(out.kind == prefix.kind);
    REQUIRE(out.tag == prefix.tag);
    REQUIRE(out.credits == prefix.credits);
    REQUIRE_FALSE(tcp::decode_prefix(word, static_cast<std::uint8_t>(sequence + 1), out));
    for (int bit = 0; bit < 64; ++bit)
      REQUIRE_FALSE(tcp::decode_prefix(word ^ std::uint64_t{1} << bit, sequence, out));
  }
  tcp::Prefix out;
  CHECK_FALSE(tcp::decode_prefix(0, 0, out));
}

TEST_CASE("tcp: frames that are lent stay, also when their connection has ended", "[tcp]") {
  Node a(0);
  Node b(1);
  b.lends = true;
  const PeerId ab = a.connect(b);
  Random random(5);
  const std::size_t max = a.link->max_payload();
  std::vector<Bytes> sent;
  for (int i = 0; i < 400; ++i) {
    const std::size_t size = random() % 4 == 0 ? max : random() % (2 * limits::kTcpLent);
    sent.push_back(random_bytes(random, size));
    send_all({&a, &b}, a, ab, {FrameType::service}, sent.back());
    for (SharedBytes& bytes : b.lent)
      if (random() % 16 == 0) bytes = {};
  }
  pump({&a, &b}, [&] { return b.received == static_cast<int>(sent.size()); });
  a.link->close(ab);
  pump_for({&a, &b}, 20ms);
  b.link.reset();
  REQUIRE(b.lent.size() == sent.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!b.lent[i]) continue;
    ++kept;
    REQUIRE(std::equal(sent[i].begin(), sent[i].end(), b.lent[i].data(),
                       b.lent[i].data() + b.lent[i].size()));
  }
  CHECK(kept != 0);
}

TEST_CASE("tcp: random frames in random slices arrive whole and in order", "[tcp]") {
  const bool tiny = GENERATE(false, true);
  const bool keeps = GENERATE(false, true);
  const TcpOptions options = tiny ? tiny_buffers() : loopback();
  Node a(0, options);
  Node b(1, options);
  const PeerId ab = a.connect(b);
  Random random(42);
  const std::size_t max = a.link->max_payload();
  REQUIRE(a.link->max_message() == limits::kTcpMessage);
  std::vector<std::pair<Meta, Bytes>> sent[2];
  PeerId peer_of[2] = {ab, kNoPeer};
  Node* nodes[2] = {&a, &b};
  int again = 0;
  for (int i = 0; i < 1500; ++i) {
    const int side = peer_of[1] == kNoPeer ? 0 : static_cast<int>(random() % 2);
    const std::size_t limit = random() % 8 == 0 ? max : 300;
    const Bytes payload =
        random_bytes(random, i % 100 == 99 ? max : static_cast<std::size_t>(random()) % limit);
    std::vector<Slice> slices;
    for (std::size_t at = 0; at < payload.size() || slices.empty();) {
      const std::size_t rest = payload.size() - at;
      const std::size_t size =
          slices.size() == 19 ? rest : std::min<std::size_t>(rest, random() % (rest + 1));
      slices.push_back({payload.data() + at, size});
      at += size;
      if (random() % 4 == 0) slices.push_back({nullptr, 0});
    }
    const Meta meta{random() % 5 == 0 ? FrameType::credit : FrameType::message,
                    static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random())};
    if (keeps) nodes[side]->keeping = random() % 8 == 0 ? Batch::watched : Batch::turn;
    SendStatus status = SendStatus::again;
    pump({}, [&] {
      status = nodes[side]->link->send(peer_of[side], meta, slices.data(),
                                       static_cast<int>(slices.size()));
      if (status != SendStatus::again) return true;
      ++again;
      a.link->poll();
      b.link->poll();
      return false;
    });
    REQUIRE(status == SendStatus::sent);
    sent[side].emplace_back(meta, payload);
    if (random() % 10 == 0) a.link->poll();
    if (random() % 10 == 0) b.link->poll();
    if (peer_of[1] == kNoPeer && b.connects != 0) peer_of[1] = b.id_of(a.address());
  }
  pump({&a, &b},
       [&] { return b.frames.size() == sent[0].size() && a.frames.size() == sent[1].size(); });
  for (int side = 0; side < 2; ++side) {
    const std::vector<Frame>& got = nodes[1 - side]->frames;
    REQUIRE(sent[side].size() > 100);
    for (std::size_t i = 0; i < got.size(); ++i) {
      REQUIRE(got[i].meta.type == sent[side][i].first.type);
      REQUIRE(got[i].meta.tag == sent[side][i].first.tag);
      REQUIRE(got[i].meta.credits == sent[side][i].first.credits);
      REQUIRE(got[i].payload == sent[side][i].second);
    }
  }
  CHECK(a.misaligned + b.misaligned == 0);
  CHECK(a.broken.empty());
  CHECK(b.broken.empty());
  CHECK(b.connects == 1);
  if (tiny) CHECK(again > 0);
  CHECK((a.counters.get(Counter::writes_saved) > 50) == keeps);
  pump({&a, &b}, [&] { return a.link->drained() && b.link->drained(); });
}

TEST_CASE("tcp: connections that cross become one", "[tcp]") {
  const int polls_between = GENERATE(0, 1, 2, 3, 5);
  for (int round = 0; round < 10; ++round) {
    Node a(0);
    Node b(1);
    const PeerId ab = a.connect(b);
    for (int i = 0; i < polls_between; ++i) a.link->poll();
    const PeerId ba = b.connect(a);
    if (round % 2 == 1)
      for (int i = 0; i < polls_between; ++i) b.link->poll();
    for (std::uint8_t i = 0; i < 20; ++i) {
      send_all({&b, &a}, a, ab, {FrameType::message, i}, Bytes(100));
      send_all({&a, &b}, b, ba, {FrameType::message, i}, Bytes(100));
    }
    pump({&a, &b}, [&] { return a.frames.size() == 20 && b.frames.size() == 20; });
    pump_for({&a, &b}, 2ms);
    for (std::uint8_t i = 0; i < 20; ++i) {
      REQUIRE(a.frames[i].meta.tag == i);
      REQUIRE(b.frames[i].meta.tag == i);
      REQUIRE(a.frames[i].peer == ab);
      REQUIRE(b.frames[i].peer == ba);
    }
    REQUIRE(a.broken.empty());
    REQUIRE(b.broken.empty());
    REQUIRE(a.counters.get(Counter::frames_dropped) == 0);
    REQUIRE(b.counters.get(Counter::frames_dropped) == 0);
  }
}

TEST_CASE("tcp: control frames still go when data has to wait", "[tcp]") {
  Node a(0, tiny_buffers());
  Node b(1, tiny_buffers());
  const PeerId peer = a.connect(b);
  std::size_t sent = 0;
  send_all({&a, &b}, a, peer, {FrameType::message}, Bytes(1000));
  ++sent;
  while (a.send(peer, {FrameType::message}, Bytes(1000)) == SendStatus::sent) ++sent;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(a.send(peer, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
    ++sent;
  }
  // The reserve also has an end. Its count includes waiting data, which is at most a backlog and a frame.
  std::size_t more = 0;
  const std::size_t reserve = limits::kTcpPlaced + 32 * 1024;
  const std::size_t most = (limits::kTcpBacklog + reserve + 15) / 16 - 100;
  while (a.send(peer, {FrameType::credit}, Bytes(4)) == SendStatus::sent) REQUIRE(++more <= most);
  CHECK(more >= (reserve - 1008) / 16 - 100);
  CHECK_FALSE(a.link->drained());
  pump({&a, &b}, [&] { return b.frames.size() == sent + more; });
  pump({&a, &b}, [&] { return a.link->drained(); });
  send_all({&a, &b}, a, peer, {FrameType::message}, Bytes(10));
  CHECK(b.broken.empty());
}

TEST_CASE("tcp: frames sent from inside a callback", "[tcp]") {
  Node a(0);
  Node b(1);
  const PeerId ab = a.connect(b);
  int failures = 0;
  const auto bounce = [&failures](Node& self) {
    return [&self, &failures](PeerId peer, Meta meta) {
      if (meta.tag != 0 &&
          self.send(peer, {FrameType::message, static_cast<std::uint8_t>(meta.tag - 1)},
                    Bytes(64)) != SendStatus::sent)
        ++failures;
    };
  };
  a.hook = bounce(a);
  b.hook = bounce(b);
  send_all({&a, &b}, a, ab, {FrameType::message, 200}, Bytes(64));
  pump({&a, &b}, [&] { return a.received + b.received == 201 || failures != 0; });
  CHECK(failures == 0);
}

TEST_CASE("tcp: a peer that cannot be reached is broken, once, with its address", "[tcp]") {
  Node a(0);
  Bytes dead;
  {
    const Node b(1);
    dead = b.blob;
  }
  const Address address = Address::parse(dead).value();
  std::string why;
  REQUIRE(a.link->reach(address, why));
  // The kernel may reject the connection at once or a moment later.
  if (a.link->connect(0, address, why)) {
    pump({&a}, [&] { return !a.broken.empty(); });
    pump_for({&a}, 5ms);
    REQUIRE(a.broken.size() == 1);
    why = a.broken[0].second;
    CHECK(a.send(0, {FrameType::message}, Bytes(8)) == SendStatus::broken);
    CHECK_FALSE(a.link->connect(0, address, why));
    why = a.broken[0].second;
  }
  INFO(why);
  CHECK(why.find("127.0.0.1") != std::string::npos);
  CHECK(why.find("refused") != std::string::npos);
}

TEST_CASE("tcp: reach() reads only addresses that make sense", "[tcp]") {
  Node a(0);
  std::string why;
  CHECK_FALSE(a.link->reach(a.address(), why));
  CHECK(why.find("itself") != std::string::npos);

  AddressWriter none({{7, 3}, 1, 8});
  CHECK_FALSE(a.link->reach(Address::parse(std::move(none).finish()).value(), why));
  CHECK(why.find("no tcp address") != std::string::npos);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{21}, std::size_t{400}}) {
    AddressWriter writer({{7, 3}, 1, 8});
    writer.add("tcp", Bytes(size, std::byte{4}));
    CHECK_FALSE(a.link->reach(Address::parse(std::move(writer).finish()).value(), why));
  }

  TcpOptions second = loopback();
  second.name = "tcp1";
  Node b(1, second);
  CHECK(b.link->name() == "tcp1");
  CHECK(a.link->reach(b.address(), why));  // rails pair by their networks, not by their position
  CHECK_FALSE(b.address().section("tcp1").empty());
}

TEST_CASE("tcp: a port range that is taken is reported", "[tcp]") {
  const Node a(0);
  const std::uint16_t port = a.port();
  TcpOptions options = loopback();
  options.ports = {port, port};
  Node sink(1);
  std::string why;
  CHECK(make_tcp_link(options, sink.identity, sink, sink.counters, why) == nullptr);
  INFO(why);
  CHECK(why.find(std::to_string(port)) != std::string::npos);
  CHECK(why.find("in use") != std::string::npos);
  options.interface.address = IpAddress::parse("192.0.2.250").value();
  options.ports = {};
  CHECK(make_tcp_link(options, sink.identity, sink, sink.counters, why) == nullptr);
  CHECK(why.find("192.0.2.250") != std::string::npos);
}

TEST_CASE("tcp: a peer with a full socket that does not read for long is not lost", "[tcp]") {
  TcpOptions options = loopback();
  options.peer_timeout = 400ms;
  options.receive_buffer = 64 * 1024;
  Node a(0, options);
  Node b(1, options);
  const PeerId peer = b.connect(a);
  const Bytes payload(32 * 1024);
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, payload);
  pump({&a, &b}, [&] { return a.frames.size() == 1; });
  const auto end = std::chrono::steady_clock::now() + 2s;
  pump({&b}, [&] {
    static_cast<void>(b.send(peer, {FrameType::message, 1}, payload));
    return std::chrono::steady_clock::now() >= end;
  });
  CHECK(b.broken.empty());
  CHECK_FALSE(b.link->drained());
  pump({&a, &b}, [&] { return b.link->drained(); });
}

}  // namespace lfc::tcp_world
