// Parts of the link tcp that need no peer: the pace of polls, admission limits, retries, the epoll set, active
// connections, and a connection's end.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "flight.hpp"
#include "link/loop/loop_link.hpp"
#include "link/tcp/active_connections.hpp"
#include "link/tcp/admission_limits.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/inbox.hpp"
#include "link/tcp/pace.hpp"
#include "link/tcp/retries.hpp"
#include "unit/failing_allocation.hpp"

namespace lfc::tcp {
namespace {

using namespace std::chrono_literals;

struct Broken final : FrameSink {
  void on_frame(PeerId, Meta, std::span<const std::byte>) override {}
  PeerId on_connect(Link&, const Address&) override { return kNoPeer; }
  void on_broken(PeerId peer, Link&, std::string_view why) override { all.emplace_back(peer, why); }
  std::vector<std::pair<PeerId, std::string>> all;
};

// Connections without a link. The test holds the other end of each socket.
struct Table {
  Table() {
    std::string why;
    some_link = make_loop_link({}, {}, sink, why);
    REQUIRE(some_link != nullptr);
    connections.emplace(*some_link, sink, Connections::Options{1s, 60s});
    REQUIRE(connections->waiting.open());
  }
  ~Table() {
    for (const int fd : others) ::close(fd);
  }
  Connection& made(PeerId peer) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    others.push_back(ends[1]);
    Connection& connection = connections->adopt(Socket(ends[0]), State::established);
    connection.peer = peer;
    connections->slot(peer) = {Slot::Status::live, &connection};
    connections->watch(connection, EPOLLIN);
    return connection;
  }
  std::size_t ready() {
    EpollSet::Found found;
    return connections->waiting.ready(found).size();
  }

  Broken sink;
  std::unique_ptr<Link> some_link;
  std::optional<Connections> connections;
  std::vector<int> others;
};

int polls_until_due(Pace& pace) {
  int polls = 1;
  while (!pace.is_due()) ++polls;
  return polls;
}

// An inbox of full size on a socket pair.
struct Reader {
  Reader() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    REQUIRE(inbox.grow(Inbox::kEstablished));
  }
  ~Reader() {
    for (const int fd : ends) ::close(fd);
  }
  void arrive(std::size_t size) {
    const std::vector<std::byte> data(std::min<std::size_t>(size, 32 * 1024), std::byte{7});
    for (std::size_t done = 0; done < size;) {
      const std::size_t part = std::min(data.size(), size - done);
      REQUIRE(::write(ends[1], data.data(), part) == static_cast<ssize_t>(part));
      REQUIRE(inbox.read(ends[0], part) == Inbox::Got::data);
      REQUIRE(inbox.last_read() == part);
      done += part;
    }
  }
  std::array<int, 2> ends{};
  Inbox inbox;
};

}  // namespace

TEST_CASE("tcp: an epoll set without events is polled more rarely", "[tcp]") {
  for (const bool beside_active : {false, true}) {
    Pace pace;
    for (std::uint32_t look = 0; look < Pace::kFruitless; ++look) {
      CHECK(polls_until_due(pace) == 1);
      pace.looked(false, beside_active);
    }
    const int rare = static_cast<int>(beside_active ? Pace::kBesideActive : Pace::kAlone);
    CHECK(polls_until_due(pace) == rare);
    pace.looked(false, beside_active);
    CHECK(polls_until_due(pace) == rare);
    pace.looked(false, beside_active);
    pace.hurry();
    CHECK(polls_until_due(pace) == 1);
    pace.looked(true, beside_active);
    CHECK(polls_until_due(pace) == 1);
  }
}

TEST_CASE("tcp: unauthenticated connections and failed handshakes in a second are limited",
          "[tcp]") {
  AdmissionLimits limits(3);
  const AdmissionLimits::Time begin{100s};
  for (int i = 0; i < 3; ++i) {
    CHECK(limits.is_room());
    limits.came();
  }
  CHECK_FALSE(limits.is_room());
  limits.left();
  CHECK(limits.is_room());

  // Two are admitted, and each of them could still fail.
  for (std::size_t i = 0; i + 2 < AdmissionLimits::kFailures; ++i) {
    CHECK(limits.is_room());
    limits.failed(begin + std::chrono::milliseconds(i));
  }
  CHECK_FALSE(limits.is_room());
  limits.forget(begin + AdmissionLimits::kPeriod - 1ms);
  CHECK_FALSE(limits.is_room());
  limits.forget(begin + AdmissionLimits::kPeriod);
  CHECK(limits.is_room());
  CHECK_FALSE(limits.has_failures());
}

TEST_CASE("tcp: an active connection is not in the epoll set until it has been idle for long",
          "[tcp]") {
  Table table;
  ActiveConnections active(*table.connections);
  Connection& connection = table.made(1);
  REQUIRE(::write(table.others[0], "x", 1) == 1);
  CHECK(table.ready() == 1);
  active.promote(connection);
  active.promote(connection);  // a second call has no effect
  CHECK(table.ready() == 0);
  int served = 0;
  const auto serve = [&](Connection& each) {
    CHECK(&each == &connection);
    return ++served == 1 ? 1 : 0;
  };
  CHECK(active.poll(serve) == 1);
  for (std::uint32_t i = 0; i < ActiveConnections::kIdleAfter; ++i) CHECK(active.poll(serve) == 0);
  CHECK_FALSE(active.empty());
  CHECK(active.poll(serve) == 0);
  CHECK(active.empty());
  CHECK(table.ready() == 1);

  active.promote(connection);
  connection.state = State::dead;
  active.forget_dead();
  CHECK(active.empty());
  active.promote(connection);  // a dead connection is not promoted
  CHECK(active.empty());
}

TEST_CASE("tcp: a connection ends once, and its operations with it", "[tcp]") {
  Table table;
  Connections& connections = *table.connections;
  Connection& connection = table.made(4);
  Connection& other = table.made(5);
  Flight put;
  Flight others;
  connections.operations().add({&put, 4, nullptr, 0, 0});
  connections.operations().add({&others, 5, nullptr, 0, 0});
  CHECK(connections.established(4) == &connection);
  connections.end(connection, "the cable was cut");
  connections.end(connection, "the cable was cut");
  CHECK(put.calls == 1);
  CHECK(put.result == Result::unreachable);
  CHECK(others.calls == 0);
  REQUIRE(table.sink.all.size() == 1);
  CHECK(table.sink.all[0] == std::pair<PeerId, std::string>(4, "the cable was cut"));
  CHECK(connections.slot(4).status == Slot::Status::broken);
  CHECK(connections.established(4) == nullptr);
  CHECK_FALSE(connections.setting_up(4));
  CHECK(connections.need_attention());

  // Without a reason the loss is not reported.
  connections.end(other, {});
  CHECK(others.result == Result::unreachable);
  CHECK(table.sink.all.size() == 1);
  CHECK(connections.slot(5).status == Slot::Status::closed);
  int gone = 0;
  connections.free_dead([&](const Connection&) { ++gone; });
  CHECK(gone == 2);
  CHECK(connections.all().empty());
}

TEST_CASE("tcp: operations of a peer that is closed end later, with a poll", "[tcp]") {
  Table table;
  Connections& connections = *table.connections;
  Connection& connection = table.made(0);
  Flight put;
  connections.operations().add({&put, 0, nullptr, 0, 0});
  Connection* found = nullptr;
  CHECK(connections.may_start(0, found) == Link::Start::done);
  CHECK(found == &connection);
  CHECK(connections.release(0) == &connection);
  CHECK(put.calls == 0);  // its caller may hold a lock
  CHECK(connections.may_start(0, found) == Link::Start::failed);
  CHECK(connections.take_cancelled() == std::vector<Operation*>{&put});
  CHECK(connections.take_cancelled().empty());
  CHECK(table.sink.all.empty());
}

TEST_CASE("tcp: a process connects again after pauses that double, and not without end", "[tcp]") {
  Retries retries;
  Retries::Duration expected = Retries::kShortest;
  for (int i = 0; i < Retries::kMost; ++i) {
    CHECK(retries.after_close(true) == expected);
    expected = std::min(expected * 2, Retries::kLongest);
    // A close that met no hello costs a pause, but no try.
    for (int j = 0; j < 100 && i == Retries::kMost - 1; ++j) {
      CHECK(retries.after_close(false) == expected);
      expected = std::min(expected * 2, Retries::kLongest);
    }
  }
  CHECK(expected == Retries::kLongest);
  CHECK_FALSE(retries.after_close(true).has_value());
}

TEST_CASE("tcp: a connection that pauses or waits keeps the link looking at the clock", "[tcp]") {
  Table table;
  Connections& connections = *table.connections;
  Connection& connection = table.made(3);
  connections.note_deadlines(false);
  CHECK_FALSE(connections.timed());
  connections.note_deadlines(true);
  CHECK(connections.timed());
  connection.state = State::waiting;
  CHECK(connections.setting_up(3));
  connections.note_deadlines(false);
  CHECK(connections.timed());
  connection.state = State::paused;
  connection.deadline = Clock::now() + 1h;
  CHECK(connections.setting_up(3));
  connections.note_deadlines(false);
  CHECK(connections.timed());
  connections.kill(connection);
  connections.note_deadlines(false);
  CHECK_FALSE(connections.timed());
}

TEST_CASE("tcp: an inbox lends only bytes of its own", "[tcp]") {
  Reader at;
  at.arrive(2 * limits::kTcpLent);
  CHECK(at.inbox.lend(at.inbox.bytes()));
  CHECK(at.inbox.lend(at.inbox.bytes().last(limits::kTcpLent)));
  const std::vector<std::byte> others(2 * limits::kTcpLent);  // as of a frame of another link
  CHECK_FALSE(at.inbox.lend(others));
  const std::byte* const end = at.inbox.bytes().data() + at.inbox.bytes().size();
  CHECK_FALSE(at.inbox.lend({end - limits::kTcpLent + 1, limits::kTcpLent}));
}

TEST_CASE("tcp: an inbox that is lent and gets no other memory reads no more than it has room for",
          "[tcp]") {
#if LFC_ALLOCATIONS_FAIL
  constexpr std::size_t kRoom = 1000;
  static_assert(kRoom < Inbox::kBeyond);
  Reader at;
  at.arrive(Inbox::kEstablished - kRoom);
  const std::byte* const end = at.inbox.bytes().data() + Inbox::kEstablished;
  const SharedBytes lent = at.inbox.lend(at.inbox.bytes());
  REQUIRE(lent);
  at.inbox.consume(at.inbox.bytes().size());
  const std::vector<std::byte> more(2 * kRoom, std::byte{8});
  REQUIRE(::write(at.ends[1], more.data(), more.size()) == static_cast<ssize_t>(more.size()));
  std::array<std::byte, 100> place{};
  std::size_t taken = 0;
  Inbox::Got got = Inbox::Got::nothing;
  bool has_failed = false;
  {
    const FailingAllocation failing(0, Inbox::kEstablished);
    got = at.inbox.read_to(at.ends[0], place.data(), place.size(), taken);
    has_failed = failing.has_failed();
  }
  if (!has_failed) {
    WARN("skipped: no allocation has failed");
    return;
  }
  REQUIRE(got == Inbox::Got::data);
  CHECK(taken == place.size());
  const std::span<const std::byte> behind = at.inbox.bytes();
  CHECK(behind.data() + behind.size() <= end);
  CHECK(lent.span().front() == std::byte{7});
#endif
}

TEST_CASE(
    "tcp: bytes that are lent stay while the inbox goes on, in another buffer when it is full",
    "[tcp]") {
  Reader at;
  std::vector<SharedBytes> lent;
  for (int round = 0; round < 40; ++round) {
    at.arrive(40'000);
    lent.push_back(at.inbox.lend(at.inbox.bytes()));
    if (!lent.back()) {  // several buffers are lent
      REQUIRE(lent.size() > limits::kTcpLentBuffers);
      lent.clear();
      at.inbox.consume(40'000);
      continue;
    }
    std::fill_n(lent.back().writable(), lent.back().size(), static_cast<std::byte>(round));
    at.inbox.consume(40'000);
    if (round % 3 == 0) at.arrive(100), at.inbox.consume(100);
    if (round % 7 == 0) lent.erase(lent.begin(), lent.begin() + static_cast<long>(lent.size() / 2));
  }
  int round = 40 - static_cast<int>(lent.size());
  for (const SharedBytes& bytes : lent) {
    for (const std::byte byte : bytes.span()) REQUIRE(byte == static_cast<std::byte>(round));
    ++round;
  }
}

}  // namespace lfc::tcp
