// The work of an NI's thread while its host is away, and how both take turns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "engine/open.hpp"
#include "unit/engine/ni_thread/world.hpp"

namespace lfc::thread_world {

TEST_CASE("ni thread: a host that is away is served for, and nothing is lost") {
  for (const std::string link : kLinks) {
    for (const std::string policy : kAutonomous) {
      INFO(link << " " << policy);
      Station target(1, link, policy, short_delays());
      Station origin(0, link, "single");
      const PeerId peer = origin.meet(target);
      std::mt19937 random(7);
      std::uint64_t adds = 0;
      const auto end = steady_clock::now() + 3s;
      while (adds < 500 || (adds < 20'000 && steady_clock::now() < end)) {
        REQUIRE(add_one(origin, peer, target));
        ++adds;
        // Often just long enough for the thread to fall asleep; sometimes longer than it lingers.
        spin(std::chrono::nanoseconds(random() % (adds % 32 == 0 ? 100'000 : 16'000)));
      }
      CHECK(target.value() == adds);
      if (policy == "floating") CHECK(target.count(Counter::thread_wakeups) > 10);
    }
  }
}

TEST_CASE("ni thread: host and thread take turns at random, and messages stay in order") {
  for (const std::string link : kLinks) {
    INFO(link);
    Station target(1, link, "floating", short_delays());
    std::atomic<bool> stop{false};
    constexpr std::uint32_t kMessages = 2000;
    std::thread sender([&] {
      Station origin(0, link, "floating", short_delays());
      const PeerId peer = origin.meet(target);
      std::mt19937 random(3);
      std::vector<std::byte> bytes(2048);
      for (std::uint32_t i = 0; i < kMessages; ++i) {
        std::memcpy(bytes.data(), &i, sizeof i);
        const Slice slice{bytes.data(), sizeof i + random() % 2000};
        struct Sent : Message {
          bool finished = false;
        } message;
        if (!origin.ni->try_send(peer, 0, &slice, 1)) {
          message.slices[0] = slice;
          message.slice_count = 1;
          message.done = [](Message* self, Result) { static_cast<Sent*>(self)->finished = true; };
          origin.ni->post(peer, message);
          while (!message.finished) origin.ni->progress();
        }
        if (random() % 64 == 0) spin(std::chrono::nanoseconds(random() % 100'000));
      }
      while (!stop.load()) origin.ni->progress();
    });
    std::mt19937 random(5);
    Deadline deadline(60s);
    while (target.received < kMessages && !deadline.is_over()) {
      for (unsigned i = random() % 100; i > 0; --i) target.ni->progress();
      // The host is away, sometimes longer than the thread may rest.
      spin(std::chrono::nanoseconds(random() % (random() % 16 == 0 ? 2'000'000 : 200'000)));
    }
    stop = true;
    sender.join();
    CHECK(target.received == kMessages);
    CHECK(target.in_order);
    CHECK(target.count(Counter::thread_turns) > 0);
  }
}

TEST_CASE(
    "ni thread: messages to an absent host do not stall their sender before the memory is full") {
  for (const std::string policy : kAutonomous) {
    INFO(policy);
    NiOptions options = short_delays();
    options.queue_memory = 1 << 20;
    Station target(1, "shm", policy, options);
    Station origin(0, "shm", "single");
    const PeerId peer = origin.meet(target);
    std::vector<std::byte> bytes(4096);
    const auto send_until_stalled = [&](std::uint32_t limit, std::chrono::milliseconds patience) {
      std::uint32_t sent = 0;
      auto last = steady_clock::now();
      while (sent < limit && steady_clock::now() - last < patience) {
        std::memcpy(bytes.data(), &sent, sizeof sent);
        const Slice slice{bytes.data(), bytes.size()};
        if (origin.ni->try_send(peer, 0, &slice, 1)) {
          ++sent;
          last = steady_clock::now();
        } else if (sent == 0 && origin.ni->peers().at(peer).state == Peer::State::known) {
          REQUIRE(add_one(origin, peer, target));  // connects
        } else {
          origin.ni->progress();
        }
      }
      return sent;
    };
    // 256 of them fit into any window. Then the window fills, and the sender stalls.
    const std::uint32_t sent = send_until_stalled(5000, 300ms);
    CHECK(sent >= 256);
    CHECK(sent <= 256 + 2 * 64 + 1);
    Deadline deadline(10s);
    while (target.received < sent && !deadline.is_over()) target.ni->progress();
    CHECK(target.received == sent);
    CHECK(target.in_order);
  }
}

TEST_CASE("ni thread: a host that polls is never interfered with") {
  NiOptions options;
  options.intr_delay = 50'000;
  options.watch_interval = 100'000;
  Station target(1, "shm", "floating", options);
  Station origin(0, "shm", "single");
  const PeerId there = origin.meet(target);
  const PeerId back = target.meet(origin);
  // At least half of the longest time for which the target's host did not poll, by its own clock.
  const auto ping_pong = [&](std::uint32_t rounds) {
    steady_clock::duration away{};
    auto last = steady_clock::now();
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const Slice slice{&i, sizeof i};
      origin.received = i;
      target.received = i;
      while (!origin.ni->try_send(there, 0, &slice, 1)) {
        origin.ni->progress();
        target.ni->progress();
      }
      while (target.received == i) target.ni->progress();
      while (!target.ni->try_send(back, 0, &slice, 1)) {
        origin.ni->progress();
        target.ni->progress();
      }
      while (origin.received == i) origin.ni->progress();
      const auto now = steady_clock::now();
      away = std::max(away, now - std::exchange(last, now));
    }
    return away;
  };
  for (const PeerId peer : {there}) REQUIRE(add_one(origin, peer, target));
  Add add;
  {
    const ServicePort::Visit visit(target.ni->services());
    target.ni->remote().atomic(back, {AtomicOp::add, 8, 1, 0},
                               reinterpret_cast<std::uintptr_t>(&origin.word), origin.region,
                               nullptr, &add);
  }
  while (add.result < 0) {
    target.ni->progress();
    origin.ni->progress();
  }
  // The machine may suspend the host for long, and then the thread rightly serves. Such rounds do not count. The
  // rounds after them do not count either, because the thread may finish its work then.
  constexpr int kWanted = 50;  // 10^6 messages
  int counted = 0;
  bool was_away = true;
  for (int block = 0; counted < kWanted && block < 20 * kWanted; ++block) {
    const std::uint64_t wakeups = target.count(Counter::thread_wakeups);
    const std::uint64_t turns = target.count(Counter::thread_turns);
    const bool is_away = 2 * ping_pong(10'000) >= std::chrono::microseconds(options.intr_delay);
    if (!is_away && !was_away) {
      ++counted;
      CHECK(target.count(Counter::thread_wakeups) == wakeups);
      CHECK(target.count(Counter::thread_turns) == turns);
    }
    was_away = is_away;
  }
  if (counted < kWanted) WARN("the host polled throughout in " << counted << " blocks only");
  REQUIRE(counted > 0);
}

TEST_CASE("ni thread: idle, it costs nothing") {
  for (const std::string link : kLinks) {
    INFO(link);
    Station target(1, link, "floating");
    Station origin(0, link, "single");
    const PeerId peer = origin.meet(target);
    REQUIRE(add_one(origin, peer, target));
    // Measured once the thread sleeps. A new connection has timeouts for a short time.
    std::uint64_t ran = 0;
    for (int tries = 0; ran != ni_threads_ran(); ++tries) {
      REQUIRE(tries < 50);
      ran = ni_threads_ran();
      std::this_thread::sleep_for(500ms);
    }
    std::this_thread::sleep_for(2s);
    CHECK(ni_threads_ran() == ran);
  }
}

TEST_CASE("ni thread: a frame that waits for room leaves without the host") {
  // The origin posts more than the ring and the window hold, and goes away.
  Station target(1, "shm", "floating", short_delays());
  Station origin(0, "shm", "floating", short_delays());
  const PeerId peer = origin.meet(target);
  constexpr std::uint32_t kMessages = 2000;
  struct Sent : Message {
    std::vector<std::byte> bytes;
  };
  std::vector<Sent> messages(kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    messages[i].bytes.resize(4000);
    std::memcpy(messages[i].bytes.data(), &i, sizeof i);
    messages[i].slices[0] = {messages[i].bytes.data(), messages[i].bytes.size()};
    messages[i].slice_count = 1;
    messages[i].done = [](Message*, Result) {};
    origin.ni->post(peer, messages[i]);
  }
  Deadline deadline(20s);
  while (target.received < kMessages && !deadline.is_over()) target.ni->progress();
  CHECK(target.received == kMessages);
  CHECK(target.in_order);
  while (origin.ni->drained() == false && !deadline.is_over()) origin.ni->progress();
  origin.ni->progress();
}

}  // namespace lfc::thread_world
