// Connections of the link tcp that end before they are established, and processes that compute meanwhile.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/tcp/inbox.hpp"
#include "link/tcp/retries.hpp"
#include "unit/failing_allocation.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

namespace {

// No process may depend on this time in these tests.
TcpOptions impatient(const char* name = "tcp") {
  TcpOptions options = loopback();
  options.name = name;
  options.connect_timeout = 1ms;
  return options;
}

using Crowd = std::vector<std::unique_ptr<RawPeer>>;

// Connects to a node without a hello, once for each of its places, and `more` times.
void add_crowd(Crowd& crowd, const Node& node, std::size_t more, const char* from = "127.0.0.1") {
  for (std::size_t i = 0; i < limits::kTcpUnauthenticated + more; ++i)
    crowd.push_back(std::make_unique<RawPeer>(node, from));
}

std::uint64_t dropped(const Node& node) { return node.counters.get(Counter::frames_dropped); }

// Both nodes send a frame to each other, if they have connected, and receive it.
void exchange(Node& a, Node& b, bool a_connects, bool b_connects) {
  SendStatus ab = a_connects ? SendStatus::again : SendStatus::sent;
  SendStatus ba = b_connects ? SendStatus::again : SendStatus::sent;
  const auto attempt = [](Node& from, Node& to, SendStatus& status) {
    if (status == SendStatus::again)
      status = from.send(from.id_of(to.address()), {FrameType::message}, Bytes(10));
  };
  pump({&a, &b}, [&] {
    attempt(a, b, ab);
    attempt(b, a, ba);
    return (b.received == (a_connects ? 1 : 0) && a.received == (b_connects ? 1 : 0)) ||
           !a.broken.empty() || !b.broken.empty();
  });
  CHECK(ab == SendStatus::sent);
  CHECK(ba == SendStatus::sent);
  CHECK(a.broken.empty());
  CHECK(b.broken.empty());
}

}  // namespace

TEST_CASE("tcp: a process that computes before its hello, or before it reads one, is not lost",
          "[tcp]") {
  const char* const rail = GENERATE("tcp", "tcp1");
  Node a(0, impatient(rail));
  Node b(1, impatient(rail));
  const bool a_connects = GENERATE(true, false);
  const bool b_connects = GENERATE(true, false);
  if (!a_connects && !b_connects) return;
  if (a_connects) a.connect(b);
  if (b_connects) b.connect(a);
  Node& busy = GENERATE(true, false) ? a : b;
  Node& other = &busy == &a ? b : a;
  pump_for({&other}, 20ms);  // twenty times the time to connect
  CHECK(dropped(other) == 0);
  exchange(a, b, a_connects, b_connects);
}

TEST_CASE("tcp: a process without memory for a receive buffer loses the peer, for that reason",
          "[tcp]") {
  Node a(0);
  Node b(1);
  Node& poor = GENERATE(true, false) ? a : b;
  a.connect(b);
  bool has_failed = false;
  pump({}, [&] {
    {
      const FailingAllocation failing(0, tcp::Inbox::kEstablished);
      poor.link->poll();
      has_failed = has_failed || failing.has_failed();
    }
    (&poor == &a ? b : a).link->poll();
    return !poor.broken.empty() ||
           a.send(a.id_of(b.address()), {FrameType::message}, Bytes(8)) == SendStatus::sent;
  });
#if LFC_ALLOCATIONS_FAIL
  REQUIRE(has_failed);
  REQUIRE(poor.broken.size() == 1);
  CHECK(poor.broken[0].second.find("Cannot allocate memory") != std::string::npos);
  CHECK(poor.broken[0].second.find("ulimit -v") != std::string::npos);
#endif
}

TEST_CASE("tcp: a process that was dropped for others before its hello connects again", "[tcp]") {
  Node a(0, impatient());
  Node b(1, impatient());
  const bool crosses = GENERATE(false, true);
  Node& busy = GENERATE(true, false) ? a : b;
  Node& other = &busy == &a ? b : a;
  Crowd crowd;
  busy.connect(other);
  pump_for({&other}, 1ms);
  std::this_thread::sleep_for(150ms);  // the others wait for as long before one is dropped
  add_crowd(crowd, other, 0);
  if (crosses) other.connect(busy);
  pump({&other}, [&] { return dropped(other) != 0; });
  exchange(busy, other, true, crosses);
}

TEST_CASE("tcp: idle connections are dropped only for others, and members last", "[tcp]") {
  Node a(0, impatient());
  Node b(1);
  std::string why;
  REQUIRE(a.link->reach(b.address(), why));  // 127.0.0.1 is a member's address from now on
  RawPeer member(a);
  RawPeer first(a, "127.0.0.2");
  pump_for({&a}, 150ms);
  Crowd crowd;
  for (std::size_t i = 2; i < limits::kTcpUnauthenticated; ++i)
    crowd.push_back(std::make_unique<RawPeer>(a, "127.0.0.3"));
  pump_for({&a}, 20ms);
  CHECK(dropped(a) == 0);

  // Each new connection takes the place of one of no member, beginning with the longest idle one.
  const RawPeer late(a, "127.0.0.4");
  pump({&a}, [&] { return dropped(a) == 1; });
  CHECK(first.is_closed());
  add_crowd(crowd, a, 0, "127.0.0.3");
  pump({&a}, [&] { return dropped(a) >= limits::kTcpUnauthenticated; });
  CHECK_FALSE(member.is_closed());

  Crowd members;
  add_crowd(members, a, 0);
  pump({&a}, [&] { return member.is_closed(); });
}

TEST_CASE("tcp: a process that closes after each hello is lost after some tries", "[tcp]") {
  const bool waits_for_hello = GENERATE(false, true);
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const std::uint16_t port = b->port();
  b.reset();
  Impostor impostor(port);
  std::string why;
  REQUIRE(a.link->connect(1, target, why));
  int closed = 0;
  pump({&a}, [&] {
    if (waits_for_hello && a.broken.empty()) {
      // The last try has no successor, so hello_of() may not wait for another.
      if (closed <= tcp::Retries::kMost) static_cast<void>(impostor.hello_of(a));
    } else {
      impostor.fd = ::accept4(impostor.listener, nullptr, nullptr, SOCK_NONBLOCK);
    }
    if (impostor.fd >= 0) {
      ::close(std::exchange(impostor.fd, -1));
      ++closed;
    }
    return !a.broken.empty();
  });
  CHECK(closed == tcp::Retries::kMost + 1);
  CHECK(a.broken.size() == 1);
  INFO(a.broken[0].second);
  CHECK(a.broken[0].second.find("instead of answering hello, 11 times") != std::string::npos);
  CHECK(a.send(1, {FrameType::message}, Bytes(8)) == SendStatus::broken);
}

TEST_CASE("tcp: a process that exits before it replies to a hello is lost at once", "[tcp]") {
  const bool late = GENERATE(false, true);
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const PeerId peer = a.connect(*b);
  if (!late) pump_for({&a}, 5ms);  // the hello waits for the process
  b.reset();
  pump({&a}, [&] { return !a.broken.empty(); });
  CHECK(a.broken.size() == 1);
  CHECK(a.broken[0].first == peer);
  INFO(a.broken[0].second);
  CHECK(a.broken[0].second.find("Connection refused") != std::string::npos);
}

TEST_CASE("tcp: a process that closes its peer while it pauses forgets it", "[tcp]") {
  Node a(0);
  auto b = std::make_unique<Node>(1);
  const Address target = b->address();
  const std::uint16_t port = b->port();
  b.reset();
  Impostor impostor(port);
  std::string why;
  REQUIRE(a.link->connect(1, target, why));
  static_cast<void>(impostor.hello_of(a));
  ::close(std::exchange(impostor.fd, -1));
  a.link->poll();
  a.link->close(1);
  pump_for({&a}, 50ms);
  CHECK(a.broken.empty());
  CHECK(::accept4(impostor.listener, nullptr, nullptr, SOCK_NONBLOCK) < 0);
}

TEST_CASE("tcp: the absence of a process does not count as the silence of its peer", "[tcp]") {
  // Both the look at the clock and that at the sockets are due at some polls only.
  for (int polls = 2; polls < 20; ++polls) {
    Node a(0, impatient());
    Node b(1);
    int done = 0;
    for (; done < polls; ++done) a.link->poll();
    const RawPeer event(a);
    for (; done < 255; ++done) a.link->poll();
    a.connect(b);
    std::this_thread::sleep_for(3ms);
    for (int i = 0; i < 300; ++i) a.link->poll();
    INFO("an event at poll " << polls);
    CHECK(a.broken.empty());
  }
}

}  // namespace lfc::tcp_world
