// The NI's own thread: what a process does while its host is away, over links that it can sleep on.
#include "engine/ni_thread.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "engine/open.hpp"
#include "engine/together.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

using namespace lfc;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

// One process's NI, with a word of memory that others may change.
struct Station {
  Station(std::uint32_t rank, const std::string& link, const std::string& policy,
          const NiOptions& base = {}) {
    NiOptions options = base;
    options.name = {1, rank};
    options.links = link.c_str();
    if (link == "tcp") options.interfaces = "lo";
    options.policy = policy.c_str();
    std::string error;
    std::string notes;
    ni = open_ni(options, error, notes);
    INFO(error);
    REQUIRE(ni != nullptr);
    ni->set_message_handler(handler_of<receive>(this));
    address = ni->open();
    REQUIRE(ni->remote().register_memory(&word, sizeof word,
                                         kRemoteRead | kRemoteWrite | kRemoteAtomic, region));
  }
  PeerId meet(const Station& other) {
    std::string why_not;
    const PeerId peer = ni->add_peer(*Address::parse(other.address), why_not);
    INFO(why_not);
    REQUIRE(peer != kNoPeer);
    return peer;
  }
  static void receive(void* context, const Delivery& delivery) {
    auto& self = *static_cast<Station*>(context);
    REQUIRE(delivery.bytes.size() >= sizeof(std::uint32_t));
    std::uint32_t number = 0;
    std::memcpy(&number, delivery.bytes.data(), sizeof number);
    self.in_order &= number == self.received;
    ++self.received;
  }
  // What others have added; the NI's thread may be at it.
  std::uint64_t value() { return std::atomic_ref(word).load(); }
  std::uint64_t count(Counter which) const { return ni->counters().get(which); }

  std::unique_ptr<Ni> ni;
  std::vector<std::byte> address;
  alignas(8) std::uint64_t word = 0;
  RegionHandle region;
  std::atomic<std::uint32_t> received{0};  // upcalls come on the NI's thread
  bool in_order = true;
};

struct Add : Operation {
  Add() {
    done = [](Operation* self, Result how) {
      static_cast<Add*>(self)->result = static_cast<int>(how);
    };
  }
  int result = -1;
};

// Adds 1 at the target, whose host does nothing. False: not within ten seconds.
bool add_one(Station& origin, PeerId peer, const Station& target) {
  Add add;
  std::uint64_t before = 0;
  origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                             reinterpret_cast<std::uintptr_t>(&target.word), target.region, &before,
                             &add);
  const auto deadline = steady_clock::now() + 10s;
  while (add.result < 0 && steady_clock::now() < deadline) origin.ni->progress();
  if (add.result < 0) FAIL("nobody served it: " << target.count(Counter::thread_turns));
  return add.result == static_cast<int>(Result::ok);
}

void spin(std::chrono::nanoseconds time) {
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end) continue;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long context_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

const char* const kLinks[] = {"shm", "tcp"};
const char* const kAutonomous[] = {"floating", "fixed"};

NiOptions short_delays() {
  NiOptions options;
  options.intr_delay = 5;
  options.watch_interval = 200;
  return options;
}

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
        // Often just as long as it takes the thread to fall asleep; now and then longer than it lingers.
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
    const auto deadline = steady_clock::now() + 60s;
    while (target.received < kMessages && steady_clock::now() < deadline) {
      for (unsigned i = random() % 100; i > 0; --i) target.ni->progress();
      // Away, now and then for longer than the thread may rest.
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
    // 256 of them fit, whatever the window; then the window holds what it holds, and it ends.
    const std::uint32_t sent = send_until_stalled(5000, 300ms);
    CHECK(sent >= 256);
    CHECK(sent <= 256 + 2 * 64 + 1);
    const auto deadline = steady_clock::now() + 10s;
    while (target.received < sent && steady_clock::now() < deadline) target.ni->progress();
    CHECK(target.received == sent);
    CHECK(target.in_order);
  }
}

TEST_CASE("ni thread: a host that polls is never interfered with") {
  // Long enough that a busy machine does not take the host's core away for so long.
  NiOptions options;
  options.intr_delay = 50'000;
  options.watch_interval = 100'000;
  Station target(1, "shm", "floating", options);
  Station origin(0, "shm", "single");
  const PeerId there = origin.meet(target);
  const PeerId back = target.meet(origin);
  const auto ping_pong = [&](std::uint32_t rounds) {
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
    }
  };
  for (const PeerId peer : {there}) REQUIRE(add_one(origin, peer, target));
  Add add;
  target.ni->remote().atomic(back, {AtomicOp::add, 8, 1, 0},
                             reinterpret_cast<std::uintptr_t>(&origin.word), origin.region, nullptr,
                             &add);
  while (add.result < 0) {
    target.ni->progress();
    origin.ni->progress();
  }
  ping_pong(10'000);
  const std::uint64_t wakeups = target.count(Counter::thread_wakeups);
  const std::uint64_t turns = target.count(Counter::thread_turns);
  ping_pong(500'000);  // 10^6 messages
  CHECK(target.count(Counter::thread_wakeups) == wakeups);
  CHECK(target.count(Counter::thread_turns) == turns);
}

TEST_CASE("ni thread: masked it does nothing, however long; unmasked it goes on by itself") {
  Station target(1, "shm", "floating", short_delays());
  Station origin(0, "shm", "single");
  const PeerId peer = origin.meet(target);
  REQUIRE(add_one(origin, peer, target));
  target.ni->turn().mask();
  target.ni->turn().mask();  // nested
  const std::uint64_t turns = target.count(Counter::thread_turns);
  Add add;
  origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                             reinterpret_cast<std::uintptr_t>(&target.word), target.region, nullptr,
                             &add);
  const auto watch = [&](std::chrono::milliseconds time) {
    const auto end = steady_clock::now() + time;
    while (steady_clock::now() < end && add.result < 0) origin.ni->progress();
  };
  watch(100ms);
  target.ni->turn().unmask();
  watch(100ms);
  CHECK(add.result == -1);
  CHECK(target.count(Counter::thread_turns) == turns);
  CHECK(target.value() == 1);
  target.ni->turn().unmask();
  watch(10s);
  CHECK(add.result == static_cast<int>(Result::ok));
}

TEST_CASE("ni thread: 10^5 masks and unmasks in the midst of traffic lose nothing") {
  Station target(1, "shm", "floating", short_delays());
  Station origin(0, "shm", "single");
  const PeerId peer = origin.meet(target);
  std::atomic<bool> stop{false};
  std::uint64_t masks = 0;
  std::thread host([&] {
    std::mt19937 random(9);
    while (!stop.load() || masks < 100'000) {
      target.ni->turn().mask();
      if (random() % 4 == 0) spin(std::chrono::nanoseconds(random() % 3000));
      target.ni->turn().unmask();
      ++masks;
      spin(std::chrono::nanoseconds(random() % 8000));
      // Each unmasking may be the last for a while: then nobody but the thread is left.
      if (masks % 1000 == 0) std::this_thread::sleep_for(1ms);
    }
  });
  std::uint64_t adds = 0;
  const auto end = steady_clock::now() + 2s;
  while (steady_clock::now() < end) {
    if (!add_one(origin, peer, target)) break;
    ++adds;
  }
  stop = true;
  host.join();
  CHECK(masks >= 100'000);
  CHECK(target.value() == adds);
  CHECK(add_one(origin, peer, target));
}

TEST_CASE("ni thread: idle, it costs nothing") {
  for (const std::string link : kLinks) {
    INFO(link);
    Station target(1, link, "floating");
    Station origin(0, link, "single");
    const PeerId peer = origin.meet(target);
    REQUIRE(add_one(origin, peer, target));
    // Once it sleeps. A connection that has just been made has timeouts for a moment.
    std::this_thread::sleep_for(500ms);
    const double cpu = cpu_seconds();
    const long switches = context_switches();
    std::this_thread::sleep_for(2s);
    CHECK(cpu_seconds() - cpu < 0.002);  // 0.1 %
#ifndef __SANITIZE_THREAD__              // which has a thread of its own that wakes by the clock
    CHECK(context_switches() - switches <= 2);
#else
    CHECK(context_switches() - switches <= 40);
#endif
  }
}

TEST_CASE("ni thread: what waits for room goes on without the host") {
  // The origin posts more than the ring and the window take, and goes away.
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
  const auto deadline = steady_clock::now() + 20s;
  while (target.received < kMessages && steady_clock::now() < deadline) target.ni->progress();
  CHECK(target.received == kMessages);
  CHECK(target.in_order);
  while (origin.ni->drained() == false && steady_clock::now() < deadline) origin.ni->progress();
  origin.ni->progress();
}

// Two processes of which one sends messages that carry their number. The first has arrived.
struct Streamed {
  explicit Streamed(const std::string& policy, const NiOptions& options = {})
      : target(1, "tcp", "single"), origin(0, "tcp", policy, options), peer(origin.meet(target)) {
    Message first;
    first.done = [](Message*, Result) {};
    first.slices[0] = {&sent, sizeof sent};
    first.slice_count = 1;
    first.tag = 1;
    origin.ni->post(peer, first);
    const auto deadline = steady_clock::now() + 10s;
    while ((target.received == 0 || !origin.ni->drained()) && steady_clock::now() < deadline)
      step();
    REQUIRE(target.received == 1);
    origin.ni->progress();
    sent = 1;
  }
  void step() {
    origin.ni->progress();
    target.ni->progress();
  }
  // The origin's host does nothing else, unless there is no credit.
  void stream(std::uint32_t count) {
    const auto deadline = steady_clock::now() + 10s;
    for (; count > 0; --count, ++sent) {
      const Slice slices[2] = {{&sent, sizeof sent}, {nullptr, 0}};
      while (!origin.ni->try_send(peer, 1, slices, 2)) {
        REQUIRE(steady_clock::now() < deadline);
        step();
      }
    }
  }
  // Polls the target alone. False: not all have come.
  bool takes() {
    const auto deadline = steady_clock::now() + 10s;
    while (target.received < sent && steady_clock::now() < deadline) target.ni->progress();
    return target.received == sent;
  }

  Station target;
  Station origin;
  PeerId peer;
  std::uint32_t sent = 0;
};

TEST_CASE("ni thread: what is kept back of a stream leaves soon though the host calls no more") {
  Streamed pair("floating");
  Station& origin = pair.origin;
  steady_clock::duration best = 10s;
  int kept = 0;
  const auto end = steady_clock::now() + 10s;
  // The first streams ask the thread to watch; later ones find it watching.
  for (int round = 0; kept < 20 && steady_clock::now() < end; ++round) {
    for (int burst = 0; burst < 5; ++burst) {
      pair.stream(20);
      pair.step();
    }
    REQUIRE(pair.takes());
    pair.step();
    const std::uint64_t before = origin.count(Counter::writes_saved);
    pair.stream(10);
    const auto last = steady_clock::now();
    // Now the host computes.
    REQUIRE(pair.takes());
    if (origin.count(Counter::writes_saved) < before + 5) continue;  // nobody was watching
    ++kept;
    best = std::min(best, steady_clock::now() - last);
  }
  CHECK(kept == 20);
  CHECK(pair.target.in_order);
  INFO(std::chrono::duration_cast<std::chrono::microseconds>(best).count() << " us");
#ifndef __SANITIZE_THREAD__  // which makes everything many times as slow
  CHECK(best < 100us);       // the best, whatever else runs here
#endif
}

TEST_CASE("ni thread: a stream is kept back only while somebody watches") {
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
    const auto deadline = steady_clock::now() + 10s;
    for (std::uint32_t i = 0; i <= round % 50 && all; ++i, ++pair.sent) {
      const Slice slices[2] = {{&pair.sent, sizeof pair.sent}, {nullptr, 0}};
      while (!pair.origin.ni->try_send(pair.peer, 1, slices, 2) && all) {
        pair.target.ni->progress();
        all = steady_clock::now() < deadline;
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

TEST_CASE("ni thread: the answers to what one pass finds leave together under every policy") {
  Station target(1, "tcp", "single");
  Station origin(0, "tcp", "single");
  const PeerId peer = origin.meet(target);
  Add first;  // opens the connection
  std::uint64_t old = 0;
  origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                             reinterpret_cast<std::uintptr_t>(&target.word), target.region, &old,
                             &first);
  const auto deadline = steady_clock::now() + 10s;
  while (first.result < 0 && steady_clock::now() < deadline) {
    origin.ni->progress();
    target.ni->progress();
  }
  constexpr int kAdds = 8;
  Add adds[kAdds];
  std::uint64_t before[kAdds];
  for (int i = 0; i < kAdds; ++i)
    origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                               reinterpret_cast<std::uintptr_t>(&target.word), target.region,
                               &before[i], &adds[i]);
  spin(1ms);  // so that one pass finds them all
  while (target.value() < 1 + kAdds && steady_clock::now() < deadline) target.ni->progress();
  CHECK(target.ni->drained());
  CHECK(target.count(Counter::writes_saved) >= 2);
  while (adds[kAdds - 1].result < 0 && steady_clock::now() < deadline) origin.ni->progress();
  for (const Add& add : adds) CHECK(add.result == static_cast<int>(Result::ok));
}

TEST_CASE("ni thread: what is sent together has left at its end, in few calls") {
  for (const std::string policy : {"single", "floating", "fixed"}) {
    INFO(policy);
    Streamed pair(policy);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t before = pair.origin.count(Counter::writes_saved);
      {
        const Together together(*pair.origin.ni);
        const Together inner(*pair.origin.ni);
        pair.stream(5);
      }
      if (policy == "single") CHECK(pair.origin.count(Counter::writes_saved) >= before + 3);
      REQUIRE(pair.takes());  // although the origin's host has not polled
      pair.step();
    }
    CHECK(pair.target.in_order);
  }
}

// Sends each message on, three times.
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

TEST_CASE("ni thread: what a callback sends to another peer leaves in the same pass") {
  Streamed onward("single");  // from the one in the middle
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
  const auto deadline = steady_clock::now() + 10s;
  while (forwarder.sent == onward.sent && steady_clock::now() < deadline) {
    origin.ni->progress();
    middle.ni->progress();
  }
  CHECK(forwarder.refused == 0);
  onward.sent += 3;
  CHECK(onward.takes());  // although nobody polls in the middle
  CHECK(middle.count(Counter::writes_saved) > 0);
}

TEST_CASE("ni thread: upcalls reach a host that is away") {
  NiOptions options = short_delays();
  options.threads = true;
  options.upcalls = true;
  Station target(1, "shm", "floating", options);
  Station origin(0, "shm", "single");
  const PeerId peer = origin.meet(target);
  REQUIRE(add_one(origin, peer, target));
  const std::uint32_t number = 0;
  const Slice slice{&number, sizeof number};
  REQUIRE(origin.ni->try_send(peer, 0, &slice, 1));
  const auto deadline = steady_clock::now() + 10s;
  const auto arrived = [&] { return target.count(Counter::messages_received) == 1; };
  while (!arrived() && steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(10ms);
  target.ni->turn().mask();
  CHECK(target.received == 1);
  target.ni->turn().unmask();
}

TEST_CASE(
    "ni thread: it registers the process with those of the host, so that sends cost no fence") {
  if (!AsymmetricFence(AsymmetricFence::Scope::host).is_asymmetric()) return;
  for (const std::string policy : kAutonomous) {
    INFO(policy);
    const Station station(0, "shm", policy);
    const auto deadline = steady_clock::now() + 10s;
    while (!AsymmetricFence::may_be_light() && steady_clock::now() < deadline)
      std::this_thread::sleep_for(1ms);
    CHECK(AsymmetricFence::may_be_light());
  }
}

TEST_CASE("ni thread: it can be ended at any time") {
  for (const std::string policy : kAutonomous) {
    for (const std::string idle : {"spin", "yield", "backoff", "block"}) {
      INFO(policy << " " << idle);
      NiOptions options = short_delays();
      options.idle = idle.c_str();
      for (int i = 0; i < 20; ++i) {
        Station station(1, "shm", policy, options);
        spin(std::chrono::microseconds(i * 20));
      }
      Station target(1, "shm", policy, options);
      Station origin(0, "shm", "single");
      const PeerId peer = origin.meet(target);
      for (int i = 0; i < 50; ++i) REQUIRE(add_one(origin, peer, target));
    }
  }
}

// Keeps the control program, when the NI's thread runs it, until it is let go.
struct Slow final : Service {
  Verdict on_frame(PeerId, FrameType, std::span<const std::byte>) override {
    return Verdict::malformed;
  }
  void on_lost(PeerId) override {}
  bool work() override {
    inside = true;
    const auto deadline = steady_clock::now() + 10s;
    while (!go && steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
    return false;
  }
  std::atomic<bool> inside{false};
  std::atomic<bool> go{false};
};

template <class Condition>
bool await(Condition condition, std::chrono::seconds limit = 10s) {
  const auto deadline = steady_clock::now() + limit;
  while (!condition() && steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
  return condition();
}

// Components enter through Ni::Access, which is compiled into them, while the thread's half is in the
// library: as here. What the one does to sleep must be what the other looks for to wake it.
TEST_CASE("ni thread: who waits for it to leave is woken, whichever library he was compiled into") {
  // For a rescue: a signal ends any sleep.
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  REQUIRE(sigaction(SIGUSR1, &nothing, nullptr) == 0);
  Station station(0, "tcp", "floating", short_delays());
  for (int round = 0; round < 10; ++round) {
    Slow slow;
    station.ni->services().attach(ServiceId::test, &slow);
    std::atomic<bool> entered{false};
    std::thread host([&] {
      {
        const Ni::Access access(*station.ni);
        station.ni->services().wake(ServiceId::test);
      }
      while (!slow.inside) std::this_thread::yield();
      const Ni::Access access(*station.ni);
      entered = true;
    });
    const bool began = await([&] { return slow.inside.load(); });
    slow.inside = true;
    std::this_thread::sleep_for(20ms);  // by now it sleeps
    CHECK_FALSE(entered);
    slow.go = true;
    const bool woken = await([&] { return entered.load(); }, 3s);
    if (!woken) pthread_kill(host.native_handle(), SIGUSR1);
    host.join();
    station.ni->services().attach(ServiceId::test, nullptr);
    REQUIRE(began);
    REQUIRE(woken);
  }
}

}  // namespace
