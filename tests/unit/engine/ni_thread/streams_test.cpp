// How the thread handles batched frames, and when they leave.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "catch.hpp"
#include "engine/host_port.hpp"
#include "engine/open.hpp"
#include "unit/engine/ni_thread/world.hpp"

namespace lfc::thread_world {

// Two processes; the origin sends messages that carry their number. The first has arrived.
struct Streamed {
  explicit Streamed(const std::string& policy, const NiOptions& options = {})
      : target(1, "tcp", "single"), origin(0, "tcp", policy, options), peer(origin.meet(target)) {
    Message first;
    first.done = [](Message*, Result) {};
    first.slices[0] = {&sent, sizeof sent};
    first.slice_count = 1;
    first.tag = 1;
    origin.ni->post(peer, first);
    Deadline deadline(10s);
    while ((target.received == 0 || !origin.ni->drained()) && !deadline.is_over()) step();
    REQUIRE(target.received == 1);
    origin.ni->progress();
    sent = 1;
  }
  void step() {
    origin.ni->progress();
    target.ni->progress();
  }
  // The origin's host only sends, and makes progress if it has no credit.
  void stream(std::uint32_t count) {
    Deadline deadline(10s);
    for (; count > 0; --count, ++sent) {
      const Slice slices[2] = {{&sent, sizeof sent}, {nullptr, 0}};
      while (!origin.ni->try_send(peer, 1, slices, 2)) {
        REQUIRE(!deadline.is_over());
        step();
      }
    }
  }
  // Polls the target alone. False: some messages are missing.
  bool takes() {
    Deadline deadline(10s);
    while (target.received < sent && !deadline.is_over()) target.ni->progress();
    return target.received == sent;
  }

  Station target;
  Station origin;
  PeerId peer;
  std::uint32_t sent = 0;
};

TEST_CASE(
    "ni thread: batched frames of a stream leave soon although the host makes no more calls") {
  Streamed pair("floating");
  Station& origin = pair.origin;
  steady_clock::duration best = 1h;
  int kept = 0;
  // The first streams let the thread watch; later ones find it watching.
  for (Deadline deadline(60s); kept < 20 && !deadline.is_over();) {
    for (int burst = 0; burst < 5; ++burst) {
      pair.stream(20);
      pair.step();
    }
    REQUIRE(pair.takes());
    pair.step();
    const std::uint64_t before = origin.count(Counter::writes_saved);
    pair.stream(10);
    const auto last = steady_clock::now();
    // From here on the host computes.
    REQUIRE(pair.takes());
    if (origin.count(Counter::writes_saved) < before + 5) continue;  // the thread did not watch
    ++kept;
    best = std::min(best, steady_clock::now() - last);
  }
  CHECK(kept == 20);
  CHECK(pair.target.in_order);
  // A figure without a check: takes() fails if the thread never sends the batch.
  WARN("the fastest of " << kept << " took "
                         << std::chrono::duration_cast<std::chrono::microseconds>(best).count()
                         << " us");
}

TEST_CASE("ni thread: a stream is batched only while a driver watches the batch") {
  for (const std::string policy : {"single", "fixed", "floating"}) {
    INFO(policy);
    Streamed pair(policy);
    for (int round = 0; round < 100; ++round) {
      pair.stream(20);
      REQUIRE(pair.takes());  // although the origin's host has not polled
      if (round % 10 == 0) pair.step();
    }
    if (policy == "single") CHECK(pair.origin.count(Counter::writes_saved) == 0);
    CHECK(pair.target.in_order);
  }
}

TEST_CASE("ni thread: streams and polls of several threads lose nothing") {
  NiOptions options;
  options.threads = true;
  Streamed pair("floating", options);
  std::atomic<bool> stop{false};
  std::thread poller([&] {
    std::mt19937 random(3);
    while (!stop) {
      pair.origin.ni->progress();
      spin(std::chrono::nanoseconds(random() % 100'000));
    }
  });
  bool all = true;
  const auto end = steady_clock::now() + 1s;
  for (std::uint32_t round = 0; round < 300 && steady_clock::now() < end && all; ++round) {
    Deadline deadline(10s);
    for (std::uint32_t i = 0; i <= round % 50 && all; ++i, ++pair.sent) {
      const Slice slices[2] = {{&pair.sent, sizeof pair.sent}, {nullptr, 0}};
      while (!pair.origin.ni->try_send(pair.peer, 1, slices, 2) && all) {
        pair.target.ni->progress();
        all = !deadline.is_over();
      }
    }
    if (round % 3 == 0) all = all && pair.takes();
  }
  all = all && pair.takes();
  stop = true;
  poller.join();
  CHECK(all);
  CHECK(pair.target.in_order);
}

TEST_CASE("ni thread: replies to all frames of one pass leave together under every policy") {
  Station target(1, "tcp", "single");
  Station origin(0, "tcp", "single");
  const PeerId peer = origin.meet(target);
  Add first;  // opens the connection
  std::uint64_t old = 0;
  {
    const ServicePort::Visit visit(origin.ni->services());
    origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                               reinterpret_cast<std::uintptr_t>(&target.word), target.region, &old,
                               &first);
  }
  Deadline deadline(10s);
  while (first.result < 0 && !deadline.is_over()) {
    origin.ni->progress();
    target.ni->progress();
  }
  constexpr int kAdds = 8;
  Add adds[kAdds];
  std::uint64_t before[kAdds];
  for (int i = 0; i < kAdds; ++i) {
    const ServicePort::Visit visit(origin.ni->services());
    origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                               reinterpret_cast<std::uintptr_t>(&target.word), target.region,
                               &before[i], &adds[i]);
  }
  spin(1ms);  // so that one pass finds all of them
  while (target.value() < 1 + kAdds && !deadline.is_over()) target.ni->progress();
  CHECK(target.ni->drained());
  CHECK(target.count(Counter::writes_saved) >= 2);
  while (adds[kAdds - 1].result < 0 && !deadline.is_over()) origin.ni->progress();
  for (const Add& add : adds) CHECK(add.result == static_cast<int>(Result::ok));
}

TEST_CASE("ni thread: frames sent under HostPort::Together have left at its end, in few calls") {
  for (const std::string policy : {"single", "floating", "fixed"}) {
    INFO(policy);
    Streamed pair(policy);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t before = pair.origin.count(Counter::writes_saved);
      {
        const HostPort::Together together(pair.origin.ni->host());
        const HostPort::Together inner(pair.origin.ni->host());
        pair.stream(5);
      }
      if (policy == "single") CHECK(pair.origin.count(Counter::writes_saved) >= before + 3);
      REQUIRE(pair.takes());  // although the origin's host has not polled
      pair.step();
    }
    CHECK(pair.target.in_order);
  }
}

// Forwards each message three times.
struct Forwarder {
  static void forward(void* context, const Delivery& delivery) {
    auto& self = *static_cast<Forwarder*>(context);
    for (int i = 0; i < 3; ++i, ++self.sent) {
      const Slice slices[2] = {{&self.sent, sizeof self.sent}, {nullptr, 0}};
      self.refused += self.ni.try_send(self.to, delivery.tag, slices, 2) ? 0 : 1;
    }
  }
  Ni& ni;
  PeerId to;
  std::uint32_t sent;
  int refused = 0;
};

TEST_CASE("ni thread: a message that a callback sends to another peer leaves in the same pass") {
  Streamed onward("single");  // from the middle process
  Station& middle = onward.origin;
  Station origin(2, "tcp", "single");
  const PeerId peer = origin.meet(middle);
  Forwarder forwarder{*middle.ni, onward.peer, onward.sent};
  middle.ni->set_message_handler(handler_of<Forwarder::forward>(&forwarder));
  Message message;
  message.done = [](Message*, Result) {};
  message.slices[0] = {&peer, sizeof peer};
  message.slice_count = 1;
  message.tag = 1;
  origin.ni->post(peer, message);
  Deadline deadline(10s);
  while (forwarder.sent == onward.sent && !deadline.is_over()) {
    origin.ni->progress();
    middle.ni->progress();
  }
  CHECK(forwarder.refused == 0);
  onward.sent += 3;
  CHECK(onward.takes());  // although no thread polls in the middle
  CHECK(middle.count(Counter::writes_saved) > 0);
}

}  // namespace lfc::thread_world
