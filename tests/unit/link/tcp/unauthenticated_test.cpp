// Unauthenticated connections, and hellos that must be rejected.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "descriptors.hpp"
#include "link/proof.hpp"
#include "link/tcp/tcp_link.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

TEST_CASE("tcp: unauthenticated connections are dropped and counted, others unaffected", "[tcp]") {
  Node a(0);
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
      hello(wrong_key, mallory),
      hello(key, mallory, FrameType::message),  // wrong type
      hello(key, random_bytes(random, 100)),    // no address
      hello(key, without_key(a.blob)),          // claims to be the node itself
      hello(key, b.blob),                       // genuine addresses have no key
      with_header(key.tag, FrameType::hello, mallory),
      hello(key, Bytes(kMaxAddress + 1)),  // too long
  };
  Bytes chatty = hello(key, mallory);
  chatty.resize(chatty.size() + 8);
  attacks.push_back(chatty);
  for (int i = 0; i < 20; ++i) {  // one bit wrong in the header
    attacks.push_back(hello(key, mallory));
    attacks.back()[random() % sizeof(Header)] ^= std::byte{1} << (random() % 8);
  }
  std::vector<std::unique_ptr<RawPeer>> clients;
  for (const Bytes& attack : attacks) {
    clients.push_back(std::make_unique<RawPeer>(a));
    clients.back()->write(attack);
  }
  pump({&a, &b}, [&] { return a.counters.get(Counter::frames_dropped) >= attacks.size(); });
  pump_for({&a, &b}, 20ms);
  CHECK(a.counters.get(Counter::frames_dropped) == attacks.size());
  CHECK(a.connects == 1);
  for (const auto& client : clients) {  // the node has closed each of them
    char byte = 0;
    CHECK(::recv(client->fd, &byte, 1, 0) <= 0);
  }

  // A valid hello that the NI rejects.
  a.refuse = true;
  RawPeer unwanted(a);
  unwanted.write(hello(key, mallory));
  pump({&a, &b}, [&] { return a.connects == 2; });
  CHECK(a.counters.get(Counter::frames_dropped) == attacks.size() + 1);

  CHECK(a.broken.empty());
  send_all({&a, &b}, b, peer, {FrameType::message, 2}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 2; });
}

namespace {

// Returns how many polls within this time did work. For a node that spins, each poll does.
int busy_polls(Node& node, std::chrono::milliseconds time) {
  int busy = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) busy += node.link->poll() != 0 ? 1 : 0;
  return busy;
}

// Whether a thread that sleeps on the link's descriptors would wake up each time.
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

TEST_CASE("tcp: idle unauthenticated connections beyond the limit cost no polls and block no peer",
          "[tcp]") {
  Node a(0);
  Node b(1);
  std::vector<std::unique_ptr<RawPeer>> clients;
  const auto limit = static_cast<int>(limits::kTcpUnauthenticated);
  const int more = std::min(limit, 40);
  for (int i = 0; i < limit + more; ++i) clients.push_back(std::make_unique<RawPeer>(a));
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

TEST_CASE("tcp: without a descriptor for a waiting connection the listeners are closed in time",
          "[tcp]") {
  static std::string warned;
  warned.clear();
  TcpOptions options = loopback();
  options.warning = [](std::string_view line) { warned += line; };
  SECTION("for a shorter time than connect_timeout: accepted later") {
    options.connect_timeout = 1h;
    Node a(0, options);
    RawPeer early(a);
    RawPeer late(a);
    {
      const AllDescriptors taken;
      pump_for({&a}, 20ms);
    }
    early.write(hello(a.identity, Bytes(100)));
    pump({&a}, [&] { return early.is_closed(); });  // it was accepted, and its hello is invalid
    CHECK(warned.empty());
    CHECK_FALSE(late.is_closed());
  }
  SECTION("for a longer time: closed, with a line") {
    options.connect_timeout = 200ms;
    Node a(0, options);
    RawPeer early(a);
    RawPeer late(a);
    const AllDescriptors taken;
    pump({&a}, [] { return !warned.empty(); });
    pump({&a}, [&] { return early.is_closed() && late.is_closed(); });
    CHECK(warned.find("Too many open files (ulimit -n)") != std::string::npos);
  }
}

TEST_CASE("tcp: keys cannot be guessed without end, and peers come in all the same", "[tcp]") {
  constexpr std::size_t kGuesses = 300;
  Node a(0);
  Node b(1);
  std::vector<std::unique_ptr<RawPeer>> clients;
  for (std::size_t i = 0; i < kGuesses; ++i) {
    clients.push_back(std::make_unique<RawPeer>(a));
    Identity guess = a.identity;
    guess.key.low ^= i + 1;
    clients.back()->write(hello(guess, without_key(b.blob)));
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

TEST_CASE("tcp: a hello that arrived between polls is read before its connection counts as idle",
          "[tcp]") {
  static int begun;
  begun = 0;
  TcpOptions options = loopback();
  options.notice = [](std::string_view) { ++begun; };
  Node a(0);
  Node b(1, options);
  std::vector<std::unique_ptr<RawPeer>> clients;
  const PeerId peer = b.connect(a);
  pump_for({&a}, 5ms);  // accepts the connection, on which b has not sent a byte
  std::this_thread::sleep_for(150ms);
  // The node accepts these first, and the limit does not admit all of them.
  for (std::size_t i = 0; i < limits::kTcpUnauthenticated + 10; ++i)
    clients.push_back(std::make_unique<RawPeer>(a));
  pump_for({&b}, 20ms);  // b sends its hello
  send_all({&a, &b}, b, peer, {FrameType::message, 1}, Bytes(10));
  pump({&a, &b}, [&] { return a.frames.size() == 1 || !b.broken.empty(); });
  CHECK(a.frames.size() == 1);
  CHECK(b.broken.empty());
  CHECK(begun == 1);  // else the connection was made again
}

namespace {

bool holds(const Bytes& bytes, const Key& key) {
  Bytes wanted(sizeof key);
  std::memcpy(wanted.data(), &key, sizeof key);
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

Bytes payload_of(const Bytes& frame) { return {frame.begin() + sizeof(Header), frame.end()}; }

// Sends it to the node, which must only count it.
void is_refused(Node& node, const Bytes& hello) {
  const int connects = node.connects;
  const std::uint64_t dropped = node.counters.get(Counter::frames_dropped);
  const RawPeer client(node);
  client.write(hello);
  pump({&node}, [&] { return node.counters.get(Counter::frames_dropped) != dropped; });
  CHECK(node.connects == connects);
}

}  // namespace

TEST_CASE("tcp: a recorded hello reveals no key, and no process accepts it again", "[tcp]") {
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
  Node client(1, loopback(), Key(5));
  Node other(2, loopback(), owner.key);
  Node rail(1, second);
  is_refused(client, with_header(client.identity.tag, FrameType::hello, payload_of(recorded)));
  is_refused(other, recorded);
  is_refused(rail, recorded);

  Node reborn(1);  // has the name and the key that the hello was made for
  RawPeer first(reborn);
  first.write(recorded);
  pump({&reborn}, [&] { return reborn.connects == 1; });
  first.leave();
  pump({&reborn}, [&] { return !reborn.broken.empty(); });
  is_refused(reborn, recorded);
}

TEST_CASE("tcp: a hello with any altered byte is rejected", "[tcp]") {
  Node a(0);
  const Bytes payload = payload_of(hello(a.identity, blob_of({{9, 9}, 5, 8})));
  Random random(13);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    Bytes altered = payload;
    altered[i] ^= std::byte{1} << (random() % 8);
    INFO("byte " << i);
    is_refused(a, with_header(a.identity.tag, FrameType::hello, altered));
  }
  const RawPeer proper(a);
  proper.write(with_header(a.identity.tag, FrameType::hello, payload));
  pump({&a}, [&] { return a.connects == 1; });
}

TEST_CASE("tcp: a hello_ack without the key of the target is rejected", "[tcp]") {
  const bool replays = GENERATE(false, true);
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const Key earlier = random_key();  // of an earlier hello whose reply was recorded
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
  CHECK(a.broken[0].second.find("replied to the hello with another frame") != std::string::npos);
  CHECK(a.send(1, {FrameType::message}, Bytes(8)) == SendStatus::broken);
}

TEST_CASE("tcp: a process whose key is not known is not connected to", "[tcp]") {
  Node a(0);
  Node b(1);
  std::string why;
  CHECK_FALSE(a.link->connect(1, Address::parse(without_key(b.blob)).value(), why));
  CHECK(why.find("key") != std::string::npos);
}

TEST_CASE("tcp: a process without descriptors does not spin, and accepts peers later", "[tcp]") {
  Node a(0);
  Node b(1);
  RawPeer client(a);
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

}  // namespace lfc::tcp_world
