// Notified puts to the window at large that a link writes with their notification. Also forged notifications.
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "catch.hpp"
#include "unit/services/fake_port.hpp"
#include "unit/services/neon/neon_service_world.hpp"

namespace lfc {
namespace {

using namespace neon_world;
using neon::WindowKey;

constexpr SimOptions kWrites{.seed = 4, .remote_memory = true, .notified_puts = kBytes};
constexpr std::uint32_t kSlots = WindowKey::kCounters + 1;

// Node 1 has a window of memory and counters, and node 0 puts into it.
struct Notified : Setting {
  explicit Notified(SimOptions options = kWrites, Config config = {.initial_window = 2},
                    bool registers = true)
      : Setting(2, options, config) {
    exposure.base = memory.data();
    exposure.size = memory.size();
    exposure.slots = slots.get();
    exposure.slot_count = kSlots;
    RegionHandle region;
    if (registers) {
      REQUIRE(world.ni(1).remote().register_memory(memory.data(), memory.size(),
                                                   kRemoteRead | kRemoteWrite, region));
    }
    windows[0]->writes().prepare_for_window(1, region);
    put(std::vector<std::byte>(1), 0, 1);  // connects
    settle();
    frames = count(0, Counter::frames_sent);
  }
  Put& put(std::vector<std::byte> data, std::uint64_t offset = 0, std::uint32_t index = 0,
           std::span<const neon::Run> runs = {}) {
    Put& made = make_put(std::move(data));
    NeonWindow& window = *windows[0];
    const ServicePort::Visit visit(window.port());
    REQUIRE(window.neon().origin().put_notify(made, 1, offset, made.bytes.data(), made.bytes.size(),
                                              runs, index, false) == Status::ok);
    return made;
  }
  bool has(const std::vector<std::byte>& data, std::size_t offset = 0) const {
    return std::memcmp(memory.data() + offset, data.data(), data.size()) == 0;
  }
  bool quiet(Node node) {
    const ServicePort::Access access(windows[node]->port());
    return windows[node]->quiet();
  }
  const neon::Statistics& statistics(Node node) { return windows[node]->neon().statistics(); }
  bool all_counted() {
    return windows[0]->traffic().sent[1] == windows[1]->traffic().received &&
           world.credit_fault().empty();
  }
  // Sends a notification that the protocol did not choose, with a write of some bytes.
  void forge(std::uint32_t key) {
    RegionHandle region;
    REQUIRE(
        world.ni(1).remote().register_memory(target.data(), target.size(), kRemoteWrite, region));
    {
      const ServicePort::Visit visit(world.ni(0).services());
      world.ni(0).remote().put_notified(world.peer(0, 1), forged.data(), nullptr, region.address,
                                        region, forged.size(), ServiceId::neon, key, &forgery);
    }
    settle();
  }
  // The key of a counter of node 1's window.
  std::uint32_t key(std::uint32_t counter, std::uint32_t place = 0, std::uint32_t generation = 1) {
    return WindowKey{.place = place, .generation = generation, .counter = counter}.word();
  }

  std::vector<std::byte> memory = std::vector<std::byte>(4 * kBytes);
  std::unique_ptr<neon::Slot[]> slots = std::make_unique<neon::Slot[]>(kSlots);
  std::uint64_t frames = 0;  // sent by the origin so far
  std::array<std::byte, 8> forged{}, target{};
  Operation forgery{[](Operation*, Result) {}};
};

}  // namespace

TEST_CASE("a notified put and its notification are one request", "[neon_service]") {
  Notified at;
  const auto data = pattern(kBytes, 2);
  const Put* ended = nullptr;
  SECTION("with a displacement") { ended = &at.put(data, kBytes); }
  SECTION("with a single run") {
    const neon::Run run{kBytes, kBytes};
    ended = &at.put(data, 0, 0, {&run, 1});
  }
  CHECK(ended->ended.calls == 0);
  at.settle();
  CHECK((ended->ended.calls == 1 && ended->ended.status == Status::ok));
  CHECK(at.has(data, kBytes));
  CHECK(at.slots[0].value() == 1);
  CHECK(at.statistics(0).puts_notified == 1);
  CHECK(at.count(0, Counter::puts_notified) == 1);
  CHECK(at.count(0, Counter::frames_sent) == at.frames);
  CHECK(at.all_counted());
}

TEST_CASE("notified puts do not wait for the writes of earlier ones", "[neon_service]") {
  Notified at(kWrites, {.initial_window = 8});
  for (unsigned i = 0; i < 3; ++i) at.put(pattern(kBytes, i), i * kBytes, i);
  CHECK(at.count(0, Counter::puts_notified) == 3);
  at.settle();
  for (unsigned i = 0; i < 3; ++i) {
    CHECK(at.slots[i].value() == (i == 1 ? 2 : 1));
    CHECK(at.has(pattern(kBytes, i), i * kBytes));
  }
  CHECK(at.statistics(0).puts_notified == 3);
  CHECK(at.all_counted());
}

TEST_CASE("a notified put that the link refuses goes in frames", "[neon_service]") {
  Notified at({.seed = 4, .remote_memory = true, .notified_puts = kBytes - 1});
  const auto data = pattern(kBytes, 2);
  const Put& put = at.put(data);
  at.settle();
  CHECK((put.ended.calls == 1 && put.ended.status == Status::ok));
  CHECK(at.has(data));
  CHECK(at.slots[0].value() == 1);
  CHECK(at.statistics(0).refused == 1);
  CHECK(at.statistics(0).puts_notified == 0);
  CHECK(at.count(0, Counter::frames_sent) > at.frames);
  CHECK(at.all_counted());
}

TEST_CASE("a notified put without a key goes in frames", "[neon_service]") {
  Notified at;
  const auto data = pattern(kBytes, 2);
  at.put(data, 0, WindowKey::kCounters);
  at.settle();
  CHECK(at.has(data));
  CHECK(at.slots[WindowKey::kCounters].value() == 1);
  CHECK(at.statistics(0).keyless == 1);
  CHECK(at.statistics(0).puts_notified == 0);
  // The largest one with a key.
  at.put(data, 0, WindowKey::kCounters - 1);
  at.settle();
  CHECK(at.slots[WindowKey::kCounters - 1].value() == 1);
  CHECK(at.statistics(0).keyless == 1);
  CHECK(at.statistics(0).puts_notified == 1);
}

TEST_CASE("keys name places and counters that have room in them", "[neon]") {
  const WindowKey last{.place = WindowKey::kPlaces - 1,
                       .generation = 2 * WindowKey::kGenerations - 1,
                       .counter = WindowKey::kCounters - 1};
  CHECK(last.word() == kNotificationMask);
  const WindowKey read = WindowKey::of(last.word());
  CHECK((read.place == last.place && read.counter == last.counter));
  CHECK(read.generation == WindowKey::kGenerations - 1);
  CHECK(WindowKey{}.word() == neon::kWindowKey);
  CHECK(WindowKey{.place = WindowKey::kPlaces}.word() == 0);
  CHECK(WindowKey{.counter = WindowKey::kCounters}.word() == 0);
}

TEST_CASE(
    "small and scattered notified puts, and those to memory without a registration, go in frames",
    "[neon_service]") {
  const bool registered = GENERATE(true, false);
  Notified at(kWrites, {.initial_window = 2}, registered);
  auto data = pattern(kBytes, 3);
  SECTION("a small one") {
    data = pattern(limits::kNeonWritten - 1, 4);
    at.put(data);
    at.settle();
  }
  SECTION("two places") {
    const std::array<neon::Run, 2> runs{{{0, kBytes / 2}, {kBytes / 2, kBytes / 2}}};
    at.put(data, 0, 0, runs);
    at.settle();
  }
  SECTION("no registration") {
    if (registered) return;
    at.put(data);
    at.settle();
  }
  CHECK(at.has(data));
  CHECK(at.slots[0].value() == 1);
  CHECK(at.statistics(0).puts_notified == 0);
  CHECK((at.statistics(0).refused == 0 && at.statistics(0).keyless == 0));
  CHECK(at.all_counted());
}

TEST_CASE("a window is not quiet before its notified writes have ended", "[neon_service]") {
  Notified at;
  const auto data = pattern(kBytes, 2);
  at.put(data);
  CHECK_FALSE(at.quiet(0));
  at.settle();
  CHECK(at.quiet(0));
  CHECK(at.has(data));
  CHECK(at.all_counted());
}

TEST_CASE("a window of one credit carries notified puts of all kinds, each exactly once",
          "[neon_service]") {
  Notified at({.seed = 9, .refuse_permille = 300, .remote_memory = true, .notified_puts = kBytes},
              {.initial_window = 1, .maximum_window = 1});
  for (unsigned round = 0; round < 50; ++round) {
    const auto data = pattern(kBytes, round);
    at.put(data, 0, 0);
    at.put(pattern(2 * kBytes, round + 1), kBytes, 1);  // the link refuses it
    at.put(pattern(16, round + 2), 3 * kBytes, 2);
    REQUIRE(at.world.run_until([&] {
      return at.slots[0].value() == round + 1 && at.slots[1].value() == round + 2 &&
             at.slots[2].value() == round + 1;
    }));
    REQUIRE(at.has(data));
    REQUIRE(at.has(pattern(2 * kBytes, round + 1), kBytes));
    REQUIRE(at.has(pattern(16, round + 2), 3 * kBytes));
    at.settle();
    for (const Put& each : at.puts) REQUIRE(each.ended.calls == 1);
  }
  CHECK(at.statistics(0).puts_notified + at.statistics(0).refused >= 50);
  CHECK(at.count(0, Counter::peers_broken) + at.count(1, Counter::peers_broken) == 0);
  CHECK(at.all_counted());
}

TEST_CASE("a lost target ends notified puts, each once", "[neon_service]") {
  Notified at;
  for (unsigned i = 0; i < 4; ++i) at.put(pattern(kBytes, i));
  at.forge(neon::notification_key(7, 1));  // node 1 gives up node 0
  at.settle();
  CHECK(at.count(1, Counter::peers_broken) == 1);
  for (const Put& each : at.puts) CHECK(each.ended.calls == 1);
}

TEST_CASE("forged notifications of windows break nothing of others", "[neon_service]") {
  Notified at;
  SECTION("a counter that does not exist") {
    at.exposure.slot_count = 2;
    at.forge(at.key(2));
    CHECK(at.statistics(1).overruns == 1);
    CHECK(at.count(1, Counter::peers_broken) == 0);
  }
  SECTION("a window that never was") {
    at.forge(at.key(0, 1));
    CHECK(at.count(1, Counter::peers_broken) == 1);
  }
  SECTION("a window that the origin is no member of") {
    NeonWindow other(at.services[1], 0, neon::Limits{}, at.exposure, 1);
    at.forge(at.key(0, 1));
    CHECK(at.count(1, Counter::peers_broken) == 1);
  }
  CHECK(at.slots[0].value() == 0);
}

TEST_CASE("a notification of a freed window does not reach the next one in its place",
          "[neon_service]") {
  Notified at;
  const std::uint32_t old = at.key(0);
  at.windows[1].reset();
  at.forge(old);
  CHECK(at.count(1, Counter::peers_broken) == 0);
  at.windows[1] = std::make_unique<NeonWindow>(at.services[1], 1, neon::Limits{}, at.exposure, 2);
  at.windows[1]->connect(std::array{at.world.peer(1, 0), kNoPeer},
                         std::array{at.windows[0]->id(), at.windows[1]->id()});
  at.forge(old);
  CHECK(at.slots[0].value() == 0);
  CHECK(at.count(1, Counter::peers_broken) == 0);
  at.forge(at.key(0, 0, 2));
  CHECK(at.slots[0].value() == 1);
}

}  // namespace lfc
