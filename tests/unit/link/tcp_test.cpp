#include "link/tcp/tcp_link.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "base/limits.hpp"
#include "catch.hpp"
#include "descriptors.hpp"
#include "flight.hpp"
#include "link/proof.hpp"
#include "link/tcp/stream.hpp"

using namespace lfc;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

Bytes random_bytes(Random& random, std::size_t size) {
  Bytes bytes(size);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  for (; i < size; ++i) bytes[i] = static_cast<std::byte>(random());
  return bytes;
}

struct Frame {
  PeerId peer;
  Meta meta;
  Bytes payload;
};

TcpOptions loopback() {
  TcpOptions options;
  options.interface = {"lo", IpAddress::parse("127.0.0.1").value(), 8, 0, true};
  return options;
}

// One process: a link and a sink that remembers everything.
struct Node final : FrameSink {
  explicit Node(std::uint32_t rank, const TcpOptions& options = loopback(), Key key = {})
      : identity{{7, rank}, key ? key : Key(0xabc000u + rank, rank), 8} {
    std::string why;
    link = make_tcp_link(options, identity, *this, counters, why);
    INFO(why);
    REQUIRE(link != nullptr);
    AddressWriter writer(identity);
    link->publish(writer);
    blob = std::move(writer).finish();
    link->set_own_address(without_key(blob));
  }

  Address address() const { return Address::parse(blob).value(); }
  std::uint16_t port() const {
    const Address own = address();
    std::uint16_t port = 0;
    std::memcpy(&port, own.section(link->name()).data(), sizeof port);
    return port;
  }
  PeerId id_of(const Address& from) {
    return ids.try_emplace(from.identity().name.packed(), static_cast<PeerId>(ids.size()))
        .first->second;
  }
  PeerId connect(const Node& other) {
    const PeerId peer = id_of(other.address());
    std::string why;
    REQUIRE(link->reach(other.address(), why));
    const bool connected = link->connect(peer, other.address(), why);
    INFO(why);
    REQUIRE(connected);
    return peer;
  }
  SendStatus send(PeerId peer, Meta meta, const Bytes& payload) {
    const Slice slice{payload.data(), payload.size()};
    return link->send(peer, meta, &slice, 1);
  }

  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override {
    if (reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0) ++misaligned;
    if (keep) frames.push_back({peer, meta, {payload.begin(), payload.end()}});
    ++received;
    if (hook) hook(peer, meta);
  }
  PeerId on_connect(Link&, const Address& from) override {
    ++connects;
    return refuse ? kNoPeer : id_of(from);
  }
  void on_broken(PeerId peer, Link&, std::string_view why) override {
    broken.emplace_back(peer, why);
  }
  Keep may_keep(bool) noexcept override {
    ++asked;
    return keeping;
  }
  std::byte* place(PeerId, Meta, const Placing& frame) override {
    return places ? places(frame) : nullptr;
  }
  void on_placed(PeerId peer, Meta meta, const Placing& frame) override {
    placed(peer, meta, frame);
  }

  Identity identity;
  Counters counters;
  std::vector<Frame> frames;
  std::vector<std::pair<PeerId, std::string>> broken;
  std::map<std::uint64_t, PeerId> ids;
  std::function<void(PeerId, Meta)> hook;
  std::function<std::byte*(const Placing&)> places;
  std::function<void(PeerId, Meta, const Placing&)> placed;
  std::atomic<int> received = 0;
  int connects = 0;
  int asked = 0;  // whether frames may be kept
  int misaligned = 0;
  bool keep = true;
  bool refuse = false;
  std::atomic<Keep> keeping = Keep::no;
  Bytes blob;
  std::unique_ptr<Link> link;  // last: it goes first
};

// Polls all nodes until `done` holds; fails with their state when that takes too long.
void pump(std::initializer_list<Node*> nodes, const std::function<bool()>& done,
          std::chrono::milliseconds limit = 20s) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    for (Node* node : nodes) node->link->poll();
    if (std::chrono::steady_clock::now() < deadline) continue;
    std::string state;
    for (const Node* node : nodes) {
      state += "rank " + std::to_string(node->identity.name.rank) + ": " +
               std::to_string(node->received) + " frames";
      for (const auto& [peer, why] : node->broken) state += ", broken: " + why;
      state += node->link->drained() ? "; " : ", not drained; ";
    }
    FAIL("timeout: " << state);
  }
}

void pump_for(std::initializer_list<Node*> nodes, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  pump(nodes, [&] { return std::chrono::steady_clock::now() >= end; });
}

// Sends once the link takes it.
void send_all(std::initializer_list<Node*> nodes, Node& from, PeerId peer, Meta meta,
              const Bytes& payload) {
  SendStatus status = SendStatus::again;
  pump(nodes, [&] { return (status = from.send(peer, meta, payload)) != SendStatus::again; });
  REQUIRE(status == SendStatus::sent);
}

std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

// A stranger: a plain blocking socket connected to the node's port.
struct Stranger {
  explicit Stranger(const Node& node) : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(node.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    const timeval limit{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Stranger() { leave(); }
  void leave() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void say(const void* data, std::size_t size) const {
    // The node may have hung up on us already.
    static_cast<void>(::send(fd, data, size, MSG_NOSIGNAL));
  }
  void say(const Bytes& bytes) const { say(bytes.data(), bytes.size()); }
  int fd;
};

// The address that a hello carries.
Bytes blob_of(const Identity& identity) {
  AddressWriter writer(identity);
  writer.add("tcp", Bytes(20));
  return without_key(std::move(writer).finish());
}

Bytes with_header(std::uint32_t tag, FrameType type, const Bytes& payload) {
  Bytes bytes(sizeof(Header));
  Header header;
  encode_header(header, tag, kNoPeer, 0, {type}, static_cast<std::uint32_t>(payload.size()));
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// By one who knows the target's key.
Bytes hello(const Identity& target, const Bytes& address, FrameType type = FrameType::hello) {
  const Key nonce = random_key();
  const HelloHead head{nonce, hello_proof(target, "tcp", nonce, address)};
  Bytes payload(sizeof head);
  std::memcpy(payload.data(), &head, sizeof head);
  payload.insert(payload.end(), address.begin(), address.end());
  return with_header(target.tag, type, payload);
}

Bytes frame_bytes(tcp::Prefix prefix, std::uint8_t sequence, const Bytes& payload) {
  const std::uint64_t word = tcp::encode_prefix(prefix, sequence);
  Bytes bytes(tcp::kPrefix + tcp::padded(payload.size()));
  std::memcpy(bytes.data(), &word, sizeof word);
  std::copy(payload.begin(), payload.end(), bytes.begin() + tcp::kPrefix);
  return bytes;
}

template <class T>
Bytes bytes_of(const T& value, std::size_t extra = 0) {
  Bytes bytes(sizeof value + extra);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// So small that most writes are partial. (A receive buffer below the loopback's segment size would
// only test the kernel's silly-window timers.)
TcpOptions tiny_buffers() {
  TcpOptions options = loopback();
  options.send_buffer = 4096;
  return options;
}

}  // namespace

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

TEST_CASE("tcp: random frames in random slices arrive whole and in order", "[tcp]") {
  const bool tiny = GENERATE(false, true);
  const bool keeps = GENERATE(false, true);
  const TcpOptions options = tiny ? tiny_buffers() : loopback();
  Node a(0, options);
  Node b(1, options);
  const PeerId ab = a.connect(b);
  Random random(42);
  const std::size_t max = a.link->max_payload();
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
    if (keeps) nodes[side]->keeping = random() % 8 == 0 ? Keep::watched : Keep::turn;
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
  // And yet the reserve ends: when so many bytes wait, the data's among them, which are a backlog and a frame at most.
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
  // The kernel may refuse at once or a moment later.
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
  CHECK(a.link->reach(b.address(), why));  // they pair by their networks, not by their position
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

TEST_CASE("tcp: who does not read for long and has a full socket is not lost", "[tcp]") {
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

TEST_CASE("tcp: strangers are dropped and counted, others unaffected", "[tcp]") {
  TcpOptions options = loopback();
  options.connect_timeout = 100ms;
  Node a(0, options);
  Node b(1);
  const PeerId peer = b.connect(a);
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 1; });

  const Identity& key = a.identity;
  Identity wrong_key = key;
  wrong_key.key.high ^= 1;
  const Bytes mallory = blob_of({{9, 9}, 5, 8});
  Random random(7);
  std::vector<Bytes> attacks{
      random_bytes(random, 4000),
      Bytes(24),
      random_bytes(random, 10),  // and then silence
      hello(wrong_key, mallory),
      hello(key, mallory, FrameType::message),  // wrong type
      hello(key, random_bytes(random, 100)),    // no address
      hello(key, without_key(a.blob)),          // claims to be the node itself
      hello(key, b.blob),                       // nobody tells his key
      with_header(key.tag, FrameType::hello, mallory),
      hello(key, Bytes(kMaxAddress + 1)),  // too long
      {},
  };
  Bytes half = hello(key, mallory);
  half.resize(half.size() / 2);
  attacks.push_back(half);
  Bytes chatty = hello(key, mallory);
  chatty.resize(chatty.size() + 8);
  attacks.push_back(chatty);
  for (int i = 0; i < 20; ++i) {  // one bit wrong in the header
    attacks.push_back(hello(key, mallory));
    attacks.back()[random() % sizeof(Header)] ^= std::byte{1} << (random() % 8);
  }
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (const Bytes& attack : attacks) {
    strangers.push_back(std::make_unique<Stranger>(a));
    strangers.back()->say(attack);
  }
  pump({&a, &b}, [&] { return a.counters.get(Counter::frames_dropped) >= attacks.size(); });
  pump_for({&a, &b}, 150ms);
  CHECK(a.counters.get(Counter::frames_dropped) == attacks.size());
  CHECK(a.connects == 1);
  for (const auto& stranger : strangers) {  // each has been hung up on
    char byte = 0;
    CHECK(::recv(stranger->fd, &byte, 1, 0) <= 0);
  }

  // A proper hello that the NI does not want.
  a.refuse = true;
  Stranger unwanted(a);
  unwanted.say(hello(key, mallory));
  pump({&a, &b}, [&] { return a.connects == 2; });
  CHECK(a.counters.get(Counter::frames_dropped) == attacks.size() + 1);

  CHECK(a.broken.empty());
  send_all({&a, &b}, b, peer, {FrameType::message, 2}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 2; });
}

namespace {

// Polls with something to do, of all within that time. A node that spins has something to do in each.
int busy_polls(Node& node, std::chrono::milliseconds time) {
  int busy = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) busy += node.link->poll() != 0 ? 1 : 0;
  return busy;
}

// Whether who sleeps until the node has something to do would not sleep.
bool is_kept_awake(Node& node) {
  std::vector<int> fds;
  node.link->wait_fds(fds);
  pollfd question{fds.at(0), POLLIN, 0};
  bool always = true;
  for (int i = 0; i < 100; ++i) {
    node.link->poll();
    always = always && ::poll(&question, 1, 0) > 0;
  }
  return always;
}

}  // namespace

TEST_CASE("tcp: silent strangers beyond the limit keep nobody busy, and keep no peer out",
          "[tcp]") {
  Node a(0);
  Node b(1);
  std::vector<std::unique_ptr<Stranger>> strangers;
  const auto limit = static_cast<int>(limits::kTcpStrangers);
  const int more = std::min(limit, 40);
  for (int i = 0; i < limit + more; ++i) strangers.push_back(std::make_unique<Stranger>(a));
  CHECK(busy_polls(a, 400ms) <= 2 * (limit + more));
  CHECK_FALSE(is_kept_awake(a));
  const PeerId peer = b.connect(a);
  SendStatus status = SendStatus::again;
  pump(
      {&a, &b},
      [&] {
        status =
            status == SendStatus::again ? b.send(peer, {FrameType::message, 1}, Bytes(10)) : status;
        return a.frames.size() == 1;
      },
      5s);
  CHECK(a.broken.empty());
}

TEST_CASE("tcp: keys cannot be guessed without end, and peers come in all the same", "[tcp]") {
  constexpr std::size_t kGuesses = 300;
  Node a(0);
  Node b(1);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (std::size_t i = 0; i < kGuesses; ++i) {
    strangers.push_back(std::make_unique<Stranger>(a));
    Identity guess = a.identity;
    guess.key.low ^= i + 1;
    strangers.back()->say(hello(guess, without_key(b.blob)));
  }
  const auto begun = std::chrono::steady_clock::now();
  const auto wrong = [&] { return a.counters.get(Counter::frames_dropped); };
  pump_for({&a}, 300ms);
  const std::uint64_t at_first = wrong();
  if (std::chrono::steady_clock::now() - begun < 900ms) CHECK(at_first <= 256);
  const PeerId peer = b.connect(a);
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 1 && wrong() == kGuesses; });
  CHECK(std::chrono::steady_clock::now() - begun >= 900ms);
  CHECK(a.connects == 1);
}

TEST_CASE("tcp: who has spoken while nobody listened is heard and not dropped for silence",
          "[tcp]") {
  Node a(0);
  Node b(1);
  std::vector<std::unique_ptr<Stranger>> strangers;
  const PeerId peer = b.connect(a);
  pump_for({&a}, 5ms);  // takes the connection, on which b has not said anything
  std::this_thread::sleep_for(150ms);
  // They are seen first, and not all have a place.
  for (std::size_t i = 0; i < limits::kTcpStrangers + 10; ++i)
    strangers.push_back(std::make_unique<Stranger>(a));
  pump_for({&b}, 20ms);  // b says hello
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 1 || !b.broken.empty(); });
  CHECK(a.frames.size() == 1);
  CHECK(b.broken.empty());
}

namespace {

// Somebody who listens where a process has listened before him.
struct Impostor {
  explicit Impostor(std::uint16_t port) : listener(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener, 8) == 0);
  }
  ~Impostor() {
    ::close(listener);
    if (fd >= 0) ::close(fd);
  }
  // All that the node says to him before it waits for an answer.
  Bytes hello_of(Node& node) {
    Bytes bytes;
    pump({&node}, [&] {
      if (fd < 0) fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      std::array<std::byte, 4096> some;
      const ssize_t got = fd < 0 ? 0 : ::recv(fd, some.data(), some.size(), MSG_DONTWAIT);
      if (got > 0) bytes.insert(bytes.end(), some.begin(), some.begin() + got);
      Header header;
      if (bytes.size() < sizeof header) return false;
      std::memcpy(&header, bytes.data(), sizeof header);
      return bytes.size() == sizeof header + header.length;
    });
    return bytes;
  }
  int listener;
  int fd = -1;
};

bool holds(const Bytes& bytes, const Key& key) {
  Bytes wanted(sizeof key);
  std::memcpy(wanted.data(), &key, sizeof key);
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

Bytes payload_of(const Bytes& frame) { return {frame.begin() + sizeof(Header), frame.end()}; }

// Says it to the node, which must take no notice but to count it.
void is_refused(Node& node, const Bytes& hello) {
  const int connects = node.connects;
  const std::uint64_t dropped = node.counters.get(Counter::frames_dropped);
  const Stranger stranger(node);
  stranger.say(hello);
  pump({&node}, [&] { return node.counters.get(Counter::frames_dropped) != dropped; });
  CHECK(node.connects == connects);
}

}  // namespace

TEST_CASE("tcp: a recorded hello tells no key, and is believed by nobody else and never again",
          "[tcp]") {
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const Identity owner = b->identity;
  const std::uint16_t port = b->port();
  b.reset();
  Bytes recorded;
  {
    Impostor impostor(port);
    std::string why;
    REQUIRE(a.link->connect(1, target, why));
    recorded = impostor.hello_of(a);
  }
  CHECK_FALSE(holds(recorded, a.identity.key));
  CHECK_FALSE(holds(recorded, owner.key));

  TcpOptions second = loopback();
  second.name = "tcp1";
  Node stranger(1, loopback(), Key(5));
  Node other(2, loopback(), owner.key);
  Node rail(1, second);
  is_refused(stranger, with_header(stranger.identity.tag, FrameType::hello, payload_of(recorded)));
  is_refused(other, recorded);
  is_refused(rail, recorded);

  Node reborn(1);  // has the name and the key that it was meant for
  Stranger first(reborn);
  first.say(recorded);
  pump({&reborn}, [&] { return reborn.connects == 1; });
  first.leave();
  pump({&reborn}, [&] { return !reborn.broken.empty(); });
  is_refused(reborn, recorded);
}

TEST_CASE("tcp: a hello of which anything has been altered is refused", "[tcp]") {
  Node a(0);
  const Bytes payload = payload_of(hello(a.identity, blob_of({{9, 9}, 5, 8})));
  Random random(13);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    Bytes altered = payload;
    altered[i] ^= std::byte{1} << (random() % 8);
    INFO("byte " << i);
    is_refused(a, with_header(a.identity.tag, FrameType::hello, altered));
  }
  const Stranger proper(a);
  proper.say(with_header(a.identity.tag, FrameType::hello, payload));
  pump({&a}, [&] { return a.connects == 1; });
}

TEST_CASE("tcp: who does not know the key of the process that we connect to cannot answer for it",
          "[tcp]") {
  const bool replays = GENERATE(false, true);
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const Key earlier = random_key();  // of a hello of ours whose answer he has heard
  const Key proof = replays ? ack_proof(b->identity, "tcp", earlier) : random_key();
  const std::uint16_t port = b->port();
  b.reset();
  Impostor impostor(port);
  std::string why;
  REQUIRE(a.link->connect(1, target, why));
  const Bytes said = payload_of(impostor.hello_of(a));
  const Bytes answer = with_header(a.identity.tag, FrameType::hello_ack, bytes_of(proof));
  REQUIRE(::send(impostor.fd, answer.data(), answer.size(), MSG_NOSIGNAL) > 0);
  pump({&a}, [&] { return !a.broken.empty(); });
  CHECK(a.broken[0].second.find("answered hello with something else") != std::string::npos);
  CHECK(a.send(1, {FrameType::message}, Bytes(8)) == SendStatus::broken);
}

TEST_CASE("tcp: a process whose key is not known is not connected to", "[tcp]") {
  Node a(0);
  Node b(1);
  std::string why;
  CHECK_FALSE(a.link->connect(1, Address::parse(without_key(b.blob)).value(), why));
  CHECK(why.find("key") != std::string::npos);
}

TEST_CASE("tcp: a process without descriptors does not spin, and hears peers later", "[tcp]") {
  Node a(0);
  Node b(1);
  Stranger stranger(a);
  {
    const AllDescriptors taken;
    CHECK(busy_polls(a, 300ms) <= 10);
    CHECK_FALSE(is_kept_awake(a));
  }
  const PeerId peer = b.connect(a);
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, Bytes(10));
  pump(
      {&a, &b}, [&] { return a.frames.size() == 1; }, 5s);
}

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
      frame(message, Bytes(a.link->max_payload() + 1)),
      frame(tcp::kGoodbye, Bytes(8)),
      frame(tcp::kGet, Bytes(31)),
      frame(tcp::kGet, bulk(0)),
      frame(tcp::kAnswer, bytes_of(tcp::Answer{{0, 1}, 0, 0})),  // to what?
      frame(tcp::kAnswer, bytes_of(tcp::Answer{{0, 1}, 77, 0})),
      frame(tcp::kGetData, bulk(8, 0, 0, 8)),                 // never asked for
      frame(tcp::kPut, bulk(8)),                              // no bytes
      frame(tcp::kPut, bulk(7, region.key, region.base, 8)),  // more than announced
  };
  Random random(11);
  for (int i = 0; i < 20; ++i) crimes.push_back(random_bytes(random, 16 + random() % 500));
  Bytes endless;  // more gets than anyone may have under way, and not reading
  for (std::uint32_t i = 0; i <= 2 * limits::kTcpGets; ++i) {
    const Bytes one = frame(tcp::kGet, bulk(memory.size(), region.key, region.base),
                            static_cast<std::uint8_t>(i));
    endless.insert(endless.end(), one.begin(), one.end());
  }
  crimes.push_back(endless);
  for (std::size_t i = 0; i < crimes.size(); ++i) {
    const Identity who{{9, static_cast<std::uint32_t>(i)}, 5, 8};
    Stranger criminal(a);
    criminal.say(hello(a.identity, blob_of(who)));
    const int connects = a.connects;
    pump({&a, &b}, [&] { return a.connects == connects + 1; });
    criminal.say(crimes[i]);
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
  Stranger peer(a);
  peer.say(hello(a.identity, blob_of({{9, 1}, 5, 8})));
  pump({&a}, [&] { return a.connects == 1; });
  Bytes bytes =
      in_a_put
          ? frame_bytes({32 + 200'000, tcp::kPut, 0, 0}, 0,
                        bytes_of(tcp::BulkHead{{0, 1}, region.key, region.base, 200'000}, 200'000))
          : frame_bytes({50'000, static_cast<tcp::Kind>(FrameType::message), 0, 0}, 0,
                        Bytes(50'000));
  bytes.resize(bytes.size() / 2);
  peer.say(bytes);
  pump_for({&a}, 5ms);
  CHECK(a.broken.empty());
  peer.leave();
  pump({&a}, [&] { return !a.broken.empty(); });
  pump_for({&a}, 5ms);
  CHECK(a.broken.size() == 1);
  CHECK(a.frames.empty());
  INFO(a.broken[0].second);
  CHECK(a.broken[0].second.find(':') != std::string::npos);
}

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
    // Nothing beside it was touched.
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
    Bytes memory;       // reached by the other side
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
  // A put that begins inside and ends outside may have written the inside, nothing else; all
  // of the link still works.
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

TEST_CASE("tcp: close delivers what was sent, and a peer can come back", "[tcp]") {
  const bool tiny = GENERATE(false, true);
  Node a(0, tiny ? tiny_buffers() : loopback());
  Node b(1, tiny ? tiny_buffers() : loopback());
  a.keeping = GENERATE(Keep::no, Keep::turn);
  int expected = 0;
  for (int round = 0; round < 5; ++round) {
    const PeerId ab = a.connect(b);
    for (int i = 0; i < 30; ++i, ++expected)
      send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(5000));
    a.link->close(ab);
    CHECK(a.send(ab, {FrameType::message}, Bytes(8)) == SendStatus::broken);
    // At once, while the old connection is still on its way down.
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

TEST_CASE("tcp: what is still unwritten at the end of the process goes out", "[tcp]") {
  Node a(0);
  auto b = std::make_unique<Node>(1, tiny_buffers());
  b->keeping = GENERATE(Keep::no, Keep::turn);
  const PeerId ba = b->connect(a);
  send_all({&a, b.get()}, *b, ba, {FrameType::message}, Bytes(8));
  int sent = 1;
  // Full sockets, a frame that waits, and polls until the link tries less eagerly. The kernel may
  // find room late, then again.
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
    // And back, to each.
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

TEST_CASE("tcp: a sender and a poller in two threads", "[tcp]") {
  Node a(0);
  Node b(1);
  a.keep = b.keep = false;
  a.keeping = GENERATE(Keep::no, Keep::watched);
  const PeerId ab = a.connect(b);
  send_all({&a, &b}, a, ab, {FrameType::message}, Bytes(8));
  Bytes theirs(300'000);
  LinkRegion region;
  REQUIRE(b.link->register_memory(theirs.data(), theirs.size(), region));
  std::atomic<bool> stop = false;
  std::thread poller([&] {
    while (!stop) {
      a.link->poll();
      b.link->poll();
    }
  });
  struct AtomicOperation : Operation {
    AtomicOperation() {
      done = [](Operation* self, Result) { ++static_cast<AtomicOperation&>(*self).calls; };
    }
    std::atomic<int> calls = 0;
  };
  AtomicOperation operation;
  const Bytes payload(700);
  Bytes mine(theirs.size());
  int sent = 1;
  int started = 0;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (sent < 5000 && std::chrono::steady_clock::now() < deadline) {
    if (a.send(ab, {FrameType::message}, payload) == SendStatus::sent) ++sent;
    if (sent % 500 == 0 && a.link->get(ab, mine.data(), {}, region.base, region, mine.size(),
                                       &operation) == Link::Start::started)
      ++started;
  }
  while ((b.received < sent || operation.calls < started) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  stop = true;
  poller.join();
  for (const Node* node : {&a, &b})
    for (const auto& [peer, why] : node->broken) UNSCOPED_INFO(why);
  CHECK(sent == 5000);
  CHECK(b.received == sent);
  CHECK(started > 0);
  CHECK(operation.calls == started);
}

// --- Frames that leave together ---

// Two that are connected, of which `a` may keep frames back.
struct Keeping {
  explicit Keeping(Keep keep, const TcpOptions& options = loopback())
      : a(0, options), b(1), peer(a.connect(b)) {
    send_all({&a, &b}, a, peer, {FrameType::message}, Bytes(8));
    pump({&a, &b}, [&] { return b.received == 1 && a.link->drained(); });
    b.received = 0;
    b.frames.clear();
    a.keeping = keep;
  }
  // Numbered by their first byte.
  void send(int count, std::size_t size = 8) {
    for (int i = 0; i < count; ++i, ++sent) {
      Bytes payload(size, static_cast<std::byte>(sent));
      REQUIRE(a.send(peer, {FrameType::message}, payload) == SendStatus::sent);
    }
  }
  // What has left `a` by now, although `a` does not poll.
  int arrived() {
    pump_for({&b}, 20ms);
    return b.received;
  }
  void check_order() const {
    for (std::size_t i = 0; i < b.frames.size(); ++i)
      REQUIRE(b.frames[i].payload.front() == static_cast<std::byte>(i));
  }
  std::uint64_t saved() const { return a.counters.get(Counter::writes_saved); }

  Node a;
  Node b;
  PeerId peer;
  int sent = 0;
};

TEST_CASE("tcp: the first frame since a poll goes at once, the next ones together", "[tcp]") {
  Keeping pair(Keep::turn);
  pair.send(20);
  CHECK(pair.arrived() == 1);
  CHECK_FALSE(pair.a.link->drained());
  pair.a.link->push();
  CHECK(pair.a.link->drained());
  CHECK(pair.arrived() == 20);
  CHECK(pair.saved() == 18);  // two calls: the first, and the other nineteen
  CHECK(pair.b.counters.get(Counter::reads_saved) >= 18);
  pair.send(2);  // of the same burst
  CHECK(pair.arrived() == 20);
  pair.a.link->poll();  // writes them, and ends it
  CHECK(pair.arrived() == 22);
  pair.send(1);
  CHECK(pair.arrived() == 23);
  pair.check_order();
}

TEST_CASE("tcp: nothing is kept back where nobody promises to push it", "[tcp]") {
  Keeping pair(Keep::no);
  pair.send(20);
  CHECK(pair.arrived() == 20);
  CHECK(pair.saved() == 0);
}

TEST_CASE("tcp: what is watched leaves with the next frame when it is old, or when that comes late",
          "[tcp]") {
  Keeping pair(Keep::watched);
  pair.send(2);
  const auto since = pair.a.link->kept_since();
  REQUIRE(since.count() != 0);
  while (std::chrono::steady_clock::now().time_since_epoch() - since < kKeptFor) continue;
  pair.send(1);
  CHECK(pair.a.link->kept_since().count() == 0);
  CHECK(pair.arrived() == 3);
  pair.check_order();
}

TEST_CASE("tcp: large frames take along what is kept, and the buffer has an end", "[tcp]") {
  Keeping pair(Keep::turn);
  pair.send(5);
  pair.send(1, 32 * 1024);  // too large to be kept
  CHECK(pair.arrived() == 6);
  pair.send(20, 4096);
  CHECK(pair.sent - pair.arrived() <= static_cast<int>(limits::kTcpKept / 4096));
  CHECK(pair.saved() >= 15);
  pair.a.link->push();
  CHECK(pair.arrived() == pair.sent);
  pair.check_order();
}

TEST_CASE("tcp: behind a full socket nothing is kept that could not wait there", "[tcp]") {
  Keeping pair(Keep::turn, tiny_buffers());
  const Bytes payload(1000);
  int sent = 0;
  while (pair.a.send(pair.peer, {FrameType::message}, payload) == SendStatus::sent)
    REQUIRE(++sent < 100'000);
  CHECK(pair.a.send(pair.peer, {FrameType::message}, Bytes(20'000)) == SendStatus::again);
  REQUIRE(pair.a.send(pair.peer, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
  pump({&pair.a, &pair.b}, [&] { return pair.b.received == sent + 1; });
  CHECK(pair.b.broken.empty());
}

TEST_CASE("tcp: a connection that is closed, or lost, while frames are kept back", "[tcp]") {
  Keeping closed(Keep::watched);
  closed.send(10);
  closed.a.link->close(closed.peer);
  CHECK(closed.arrived() == 10);
  closed.check_order();

  Keeping abandoned(Keep::turn);
  abandoned.send(10);
  abandoned.a.link->abandon(abandoned.peer);
  abandoned.a.link->push();
  pump_for({&abandoned.a}, 5ms);
  CHECK(abandoned.a.link->drained());

  Node a(0);
  auto b = std::make_unique<Node>(1);
  const PeerId peer = a.connect(*b);
  send_all({&a, b.get()}, a, peer, {FrameType::message}, Bytes(8));
  a.keeping = Keep::turn;
  for (int i = 0; i < 10; ++i)
    REQUIRE(a.send(peer, {FrameType::message}, Bytes(8)) == SendStatus::sent);
  b.reset();
  a.link->push();
  pump({&a}, [&] { return a.send(peer, {FrameType::message}, Bytes(8)) == SendStatus::broken; });
  pump({&a}, [&] { return a.link->drained(); });
}

TEST_CASE("tcp: what the frames of one read have caused leaves in two calls", "[tcp]") {
  Keeping pair(Keep::turn);
  pair.b.keeping = Keep::turn;
  const PeerId back = pair.b.id_of(pair.a.address());
  pair.b.hook = [&](PeerId, Meta) {
    REQUIRE(pair.b.send(back, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
  };
  pair.send(20);
  pair.a.link->push();
  pump({&pair.b}, [&] { return pair.b.received == 20; });
  // Without another poll.
  CHECK(pair.b.link->drained());
  CHECK(pair.b.counters.get(Counter::writes_saved) >= 15);
  pump({&pair.a}, [&] { return pair.a.received == 20; });
}

TEST_CASE("tcp: a frame that the next one follows at once leaves with it", "[tcp]") {
  Keeping pair(Keep::no);
  const Bytes first(100, std::byte{0});
  const Meta ahead{FrameType::message, 0, 0, true};
  REQUIRE(pair.a.send(pair.peer, ahead, first) == SendStatus::sent);
  CHECK(pair.arrived() == 0);
  SECTION("with the next frame") {
    REQUIRE(pair.a.send(pair.peer, {FrameType::message}, Bytes(60'000, std::byte{1})) ==
            SendStatus::sent);
    CHECK(pair.arrived() == 2);
    CHECK(pair.saved() == 1);
  }
  SECTION("when it is pushed, for no frame followed") {
    pair.a.link->push();
    CHECK(pair.arrived() == 1);
  }
  SECTION("and nobody has to watch it") {
    const int asked = pair.a.asked;
    REQUIRE(pair.a.send(pair.peer, ahead, Bytes(100, std::byte{1})) == SendStatus::sent);
    CHECK(pair.a.asked == asked);
    pair.a.link->push();
    CHECK(pair.arrived() == 2);
  }
  pair.check_order();
}

// --- Frames whose bytes are placed ---

namespace {

// A receiver that takes the bytes of services' frames to one place, or changes its mind; of some frames it says at once that
// they have none. The first byte of the head says which.
struct Placer {
  explicit Placer(Node& at) : node(at) {
    node.places = [this](const Placing& frame) { return place(frame); };
    node.placed = [this](PeerId peer, Meta meta, const Placing& frame) {
      REQUIRE(landed < frame.landed);
      landed = frame.landed;
      if (frame.left != 0) return;
      Bytes whole(frame.head.begin(), frame.head.end());
      whole.insert(whole.end(), memory.begin(), memory.begin() + static_cast<long>(landed));
      node.on_frame(peer, meta, whole);
      landed = 0;
      ++frames;
    };
  }
  std::byte* place(const Placing& frame) {
    REQUIRE(frame.head.size() == kPlacedHead);
    if (frame.head.front() == std::byte{1}) return nullptr;
    REQUIRE(frame.landed == landed);
    if (frame.head.front() == std::byte{2}) {  // elsewhere from now on
      Bytes other(limits::kTcpPlaced);
      std::copy(memory.begin(), memory.begin() + static_cast<long>(landed), other.begin());
      memory.swap(other);
    }
    return memory.data() + landed;
  }
  Node& node;
  Bytes memory = Bytes(limits::kTcpPlaced);
  std::size_t landed = 0;
  int frames = 0;
};

}  // namespace

TEST_CASE("tcp: the bytes of services' frames land where they are wanted", "[tcp]") {
  const TcpOptions options = GENERATE(false, true) ? tiny_buffers() : loopback();
  Node a(0, options);
  Node b(1, options);
  const PeerId ab = a.connect(b);
  Placer placer(b);
  Random random(7);
  std::vector<std::pair<Meta, Bytes>> sent;
  REQUIRE(a.link->traits().placed_payload == limits::kTcpPlaced);
  for (int i = 0; i < 400; ++i) {
    const bool service = random() % 3 != 0;
    const std::size_t most = service ? limits::kTcpPlaced : a.link->max_payload();
    const std::size_t size = random() % 4 == 0 ? most : static_cast<std::size_t>(random()) % 300;
    Bytes payload = random_bytes(random, size);
    if (size != 0) payload[0] = static_cast<std::byte>(random() % 8);
    const Meta meta{service ? FrameType::service : FrameType::message,
                    static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random())};
    send_all({&a, &b}, a, ab, meta, payload);
    sent.emplace_back(meta, std::move(payload));
  }
  pump({&a, &b}, [&] { return b.frames.size() == sent.size(); });
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    REQUIRE(b.frames[i].meta.type == sent[i].first.type);
    REQUIRE(b.frames[i].meta.tag == sent[i].first.tag);
    REQUIRE(b.frames[i].meta.credits == sent[i].first.credits);
    REQUIRE(b.frames[i].payload == sent[i].second);
  }
  CHECK(placer.frames > 5);
  CHECK(b.broken.empty());
}

TEST_CASE("tcp: nobody places what does not fit, or the rest of a frame whose sender ends",
          "[tcp]") {
  Node a(0);
  Placer placer(a);
  Stranger peer(a);
  peer.say(hello(a.identity, blob_of({{9, 1}, 5, 8})));
  pump({&a}, [&] { return a.connects == 1; });
  const auto service = static_cast<tcp::Kind>(FrameType::service);
  const bool too_large = GENERATE(false, true);
  Bytes bytes = frame_bytes(
      {static_cast<std::uint32_t>(limits::kTcpPlaced + (too_large ? 1 : 0)), service, 0, 0}, 0,
      Bytes(limits::kTcpPlaced + 1));
  bytes.resize(1000);
  peer.say(bytes);
  if (too_large) {
    pump({&a}, [&] { return a.broken.size() == 1; });
    CHECK(placer.landed == 0);
    return;
  }
  pump({&a}, [&] { return placer.landed == 1000 - tcp::kPrefix - kPlacedHead; });
  peer.leave();
  pump({&a}, [&] { return a.broken.size() == 1; });
  CHECK(placer.frames == 0);
}
