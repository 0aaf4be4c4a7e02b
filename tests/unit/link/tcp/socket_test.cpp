// Decisions of the link tcp about sockets: when a peer counts as unresponsive, and the port to listen on.
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "link/ports.hpp"
#include "link/tcp/silence.hpp"
#include "link/tcp/socket.hpp"

using namespace lfc;
using namespace lfc::tcp;
using namespace std::chrono_literals;

namespace {

// A connection that is checked at intervals, with simulated counters of its kernel.
struct Watched {
  using Time = Silence::Clock::time_point;
  static constexpr std::chrono::milliseconds kTimeout = 8s;
  Silence silence;
  Time now{1000s};
  Time heard = now;
  unsigned retries = 0;
  unsigned probes = 0;

  bool look() {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - heard);
    return silence.look(now, {probes, retries, since}, kTimeout);
  }
  // Checks it as the timer would. True: lost within that time.
  bool watch(std::chrono::milliseconds time) {
    for (const Time end = now + time; now < end;) {
      now += Silence::interval(kTimeout);
      if (look()) return true;
    }
    return false;
  }
  void answer() {
    heard = now;
    probes = 0;
  }
};

}  // namespace

TEST_CASE("tcp: silence is counted from when an answer is due", "[tcp]") {
  Watched idle;
  CHECK_FALSE(idle.watch(100s));  // nothing is under way
  idle.retries = 5;               // the last packet came 100 s ago
  CHECK_FALSE(idle.watch(8s));
  CHECK(idle.watch(2s));
  CHECK(idle.silence.lasts() >= 8s);
  CHECK(idle.silence.lasts() <= 10s);
}

TEST_CASE("tcp: a node that acknowledges probes of its closed window is present", "[tcp]") {
  Watched closed;
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(closed.watch(60s));  // probes are so rare
    ++closed.probes;
    CHECK_FALSE(closed.watch(60s));  // and the first probe is lost
    ++closed.probes;
    CHECK_FALSE(closed.look());
    closed.answer();
  }
  closed.probes = 3;
  CHECK(closed.watch(10s));
}

TEST_CASE("tcp: a node that acknowledges without taking retransmitted bytes is present", "[tcp]") {
  Watched full;
  for (int i = 0; i < 20; ++i) {
    ++full.retries;
    full.now += 1ms;
    full.answer();
    CHECK_FALSE(full.watch(60s));
  }
  full.retries += 3;
  CHECK(full.watch(10s));
}

TEST_CASE("tcp: a stream with losses that is acknowledged is never silent", "[tcp]") {
  Watched stream;
  for (unsigned i = 0; i < 1000; ++i) {
    stream.retries = i % 5;
    CHECK_FALSE(stream.watch(5s));
    stream.answer();
  }
}

TEST_CASE("tcp: a single look after a long sleep ends nothing", "[tcp]") {
  Watched asleep;
  asleep.retries = 5;
  CHECK_FALSE(asleep.watch(1s));
  asleep.now += 3600s;  // this machine was suspended
  CHECK_FALSE(asleep.look());
  asleep.now += 500ms;
  asleep.answer();
  asleep.retries = 0;
  CHECK_FALSE(asleep.watch(1s));
  asleep.retries = 3;
  CHECK_FALSE(asleep.watch(7s));
  CHECK(asleep.watch(10s));
}

TEST_CASE("tcp: a range of ports is two numbers in order, or one", "[tcp]") {
  PortRange ports;
  std::string problem;
  REQUIRE(parse_ports("5000-5100", ports, problem));
  CHECK((ports.first == 5000 && ports.last == 5100));
  REQUIRE(parse_ports("65535", ports, problem));
  CHECK((ports.first == 65535 && ports.last == 65535));
  REQUIRE(parse_ports("", ports, problem));
  CHECK((ports.first == 0 && ports.last == 0));
  for (const char* text :
       {"0", "0-5", "7-5", "5-", "-5", "5-70000", "a", "5000:5100", "1-2-3", " 5"}) {
    INFO(text);
    CHECK_FALSE(parse_ports(text, ports, problem));
    CHECK(problem.find(text) != std::string::npos);
  }
}

TEST_CASE("tcp: processes that start together share a range of ports", "[tcp]") {
  constexpr int kProcesses = 4;
  constexpr int kRounds = 50;
  const IpAddress address = IpAddress::parse("127.0.0.1").value();
  std::uint16_t base = 0;
  std::string why;
  {
    const Socket free = Socket::listening(address, {}, base, why);
    REQUIRE(free);
  }
  base = static_cast<std::uint16_t>(base > 60000 ? base - 100 : base);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::array<Socket, kProcesses> sockets;
    std::array<std::uint16_t, kProcesses> ports{};
    std::atomic<int> ready = 0;
    std::vector<std::thread> processes;
    for (std::size_t i = 0; i < kProcesses; ++i)
      processes.emplace_back([&, i] {
        std::string problem;
        for (++ready; ready < kProcesses;) {
        }
        sockets[i] = Socket::listening(address, {base, static_cast<std::uint16_t>(base + 40)},
                                       ports[i], problem);
      });
    for (std::thread& process : processes) process.join();
    for (const Socket& socket : sockets) refused += socket ? 0 : 1;
    CHECK(std::set<std::uint16_t>(ports.begin(), ports.end()).size() == kProcesses);
  }
  CHECK(refused == 0);
}
