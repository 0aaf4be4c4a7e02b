// Frames that the link tcp batches and sends together.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/tcp/tcp_link.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

// Two connected nodes; `a` may batch frames.
struct Keeping {
  explicit Keeping(Batch keep, const TcpOptions& options = loopback())
      : a(0, options), b(1), peer(a.connect(b)) {
    send_all({&a, &b}, a, peer, {FrameType::message}, Bytes(8));
    pump({&a, &b}, [&] { return b.received == 1 && a.link->drained(); });
    b.received = 0;
    b.frames.clear();
    a.keeping = keep;
  }
  // The first byte is the frame's number.
  void send(int count, std::size_t size = 8) {
    for (int i = 0; i < count; ++i, ++sent) {
      Bytes payload(size, static_cast<std::byte>(sent));
      REQUIRE(a.send(peer, {FrameType::message}, payload) == SendStatus::sent);
    }
  }
  // Waits until this many frames have left `a`, although `a` does not poll, and then briefly for more.
  int arrived(int expected) {
    pump({&b}, [&] { return b.received >= expected; });
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
  Keeping pair(Batch::turn);
  pair.send(20);
  CHECK(pair.arrived(1) == 1);
  CHECK_FALSE(pair.a.link->drained());
  pair.a.link->flush();
  CHECK(pair.a.link->drained());
  CHECK(pair.arrived(20) == 20);
  CHECK(pair.saved() == 18);  // two calls: the first, and the other nineteen
  CHECK(pair.b.counters.get(Counter::reads_saved) >= 18);
  pair.send(2);  // in the same burst
  CHECK(pair.arrived(20) == 20);
  pair.a.link->poll();  // writes them, and ends the burst
  CHECK(pair.arrived(22) == 22);
  pair.send(1);
  CHECK(pair.arrived(23) == 23);
  pair.check_order();
}

TEST_CASE("tcp: nothing is batched where no flush is promised", "[tcp]") {
  Keeping pair(Batch::no);
  pair.send(20);
  CHECK(pair.arrived(20) == 20);
  CHECK(pair.saved() == 0);
}

TEST_CASE(
    "tcp: a watched batch leaves with the next frame if the batch is old or the frame comes late",
    "[tcp]") {
  Keeping pair(Batch::watched);
  // A pause of this process between two frames ends a burst, and then nothing is batched.
  for (Deadline deadline(20s); pair.a.link->batched_since().count() == 0;) {
    REQUIRE_FALSE(deadline.is_over());
    pair.a.link->poll();
    pair.send(2);
  }
  const auto since = pair.a.link->batched_since();
  while (std::chrono::steady_clock::now().time_since_epoch() - since < kBatchedFor) continue;
  pair.send(1);
  CHECK(pair.a.link->batched_since().count() == 0);
  CHECK(pair.arrived(pair.sent) == pair.sent);
  pair.check_order();
}

TEST_CASE("tcp: large frames take along what is kept, and the buffer has an end", "[tcp]") {
  Keeping pair(Batch::turn);
  pair.send(5);
  pair.send(1, 32 * 1024);  // too large to be batched
  CHECK(pair.arrived(6) == 6);
  pair.send(20, 4096);
  const int left = pair.sent - static_cast<int>(limits::kTcpBatch / 4096);
  CHECK(pair.arrived(left) >= left);
  CHECK(pair.saved() >= 15);
  pair.a.link->flush();
  CHECK(pair.arrived(pair.sent) == pair.sent);
  pair.check_order();
}

TEST_CASE("tcp: behind a full socket nothing is kept that could not wait there", "[tcp]") {
  Keeping pair(Batch::turn, tiny_buffers());
  const Bytes payload(1000);
  int sent = 0;
  while (pair.a.send(pair.peer, {FrameType::message}, payload) == SendStatus::sent)
    REQUIRE(++sent < 100'000);
  CHECK(pair.a.send(pair.peer, {FrameType::message}, Bytes(20'000)) == SendStatus::again);
  REQUIRE(pair.a.send(pair.peer, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
  pump({&pair.a, &pair.b}, [&] { return pair.b.received == sent + 1; });
  CHECK(pair.b.broken.empty());
}

TEST_CASE("tcp: a connection that is closed, or lost, while frames are batched", "[tcp]") {
  Keeping closed(Batch::watched);
  closed.send(10);
  closed.a.link->close(closed.peer);
  CHECK(closed.arrived(10) == 10);
  closed.check_order();

  Keeping abandoned(Batch::turn);
  abandoned.send(10);
  abandoned.a.link->abandon(abandoned.peer);
  abandoned.a.link->flush();
  pump_for({&abandoned.a}, 5ms);
  CHECK(abandoned.a.link->drained());

  Node a(0);
  auto b = std::make_unique<Node>(1);
  const PeerId peer = a.connect(*b);
  send_all({&a, b.get()}, a, peer, {FrameType::message}, Bytes(8));
  a.keeping = Batch::turn;
  for (int i = 0; i < 10; ++i)
    REQUIRE(a.send(peer, {FrameType::message}, Bytes(8)) == SendStatus::sent);
  b.reset();
  a.link->flush();
  pump({&a}, [&] { return a.send(peer, {FrameType::message}, Bytes(8)) == SendStatus::broken; });
  pump({&a}, [&] { return a.link->drained(); });
}

TEST_CASE("tcp: replies to the frames of one read leave in two calls", "[tcp]") {
  Keeping pair(Batch::turn);
  pair.b.keeping = Batch::turn;
  const PeerId back = pair.b.id_of(pair.a.address());
  pair.b.hook = [&](PeerId, Meta) {
    REQUIRE(pair.b.send(back, {FrameType::credit}, Bytes(4)) == SendStatus::sent);
  };
  pair.send(20);
  pair.a.link->flush();
  pump({&pair.b}, [&] { return pair.b.received == 20; });
  // Without another poll.
  CHECK(pair.b.link->drained());
  CHECK(pair.b.counters.get(Counter::writes_saved) >= 15);
  pump({&pair.a}, [&] { return pair.a.received == 20; });
}

TEST_CASE("tcp: a frame that the next one follows at once leaves with it", "[tcp]") {
  Keeping pair(Batch::no);
  const Bytes first(100, std::byte{0});
  const Meta ahead{FrameType::message, 0, 0, true};
  REQUIRE(pair.a.send(pair.peer, ahead, first) == SendStatus::sent);
  CHECK(pair.arrived(0) == 0);
  SECTION("with the next frame") {
    REQUIRE(pair.a.send(pair.peer, {FrameType::message}, Bytes(60'000, std::byte{1})) ==
            SendStatus::sent);
    CHECK(pair.arrived(2) == 2);
    CHECK(pair.saved() == 1);
  }
  SECTION("when it is pushed, for no frame followed") {
    pair.a.link->flush();
    CHECK(pair.arrived(1) == 1);
  }
  SECTION("and no driver has to watch it") {
    const int asked = pair.a.asked;
    REQUIRE(pair.a.send(pair.peer, ahead, Bytes(100, std::byte{1})) == SendStatus::sent);
    CHECK(pair.a.asked == asked);
    pair.a.link->flush();
    CHECK(pair.arrived(2) == 2);
  }
  pair.check_order();
}

// The only call that needs no serialisation (link/link.hpp).
TEST_CASE("tcp: another thread sees when batched frames wait, and when they have left", "[tcp]") {
  constexpr int kRounds = 20;
  Keeping pair(Batch::watched);
  const Link& link = *pair.a.link;
  std::atomic<int> seen = 0;  // odd: the thread waits for the flush
  std::atomic<bool> stop = false;
  std::thread watcher([&] {
    while (!stop.load()) {
      const bool waits = link.batched_since().count() != 0;
      if (waits == (seen.load() % 2 == 0)) seen.fetch_add(1);
    }
  });
  Deadline deadline(20s);
  int round = 0;
  for (; round < kRounds && !deadline.is_over(); ++round) {
    // A pause of this process between two frames ends a burst.
    while (link.batched_since().count() == 0 && !deadline.is_over()) {
      pair.a.link->poll();
      for (int i = 0; i < 2; ++i) pair.a.send(pair.peer, {FrameType::message}, Bytes(8));
      pair.b.link->poll();
    }
    while (seen.load() != 2 * round + 1 && !deadline.is_over()) std::this_thread::yield();
    pair.a.link->flush();
    while (seen.load() != 2 * round + 2 && !deadline.is_over()) std::this_thread::yield();
  }
  stop.store(true);
  watcher.join();
  CHECK(seen.load() == 2 * kRounds);
}

}  // namespace lfc::tcp_world
