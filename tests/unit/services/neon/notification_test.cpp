// Notifications that go with a write of the link: puts that are their generation alone. Also forged ones.
#include <array>
#include <cstring>

#include "catch.hpp"
#include "unit/services/neon/neon_service_world.hpp"

namespace lfc {
namespace {

using namespace neon_world;

constexpr SimOptions kNotifies{.seed = 3, .remote_memory = true, .notified_puts = kBytes};

// The setting after the round in which the origin has requested grants; the buffer is announced again.
struct Granted : Setting {
  explicit Granted(SimOptions options = kNotifies, Config config = {.initial_window = 2})
      : Setting(2, options, config) {
    announce({0});
    put(0, pattern(kBytes, 1));
    settle();
    announce({0});
    settle();
    frames = count(0, Counter::frames_sent);
  }
  bool all_counted() {
    return windows[0]->traffic().sent[1] == windows[1]->traffic().received &&
           world.credit_fault().empty();
  }
  // Puts bytes into the buffer with a notification that the protocol did not choose.
  void forge(ServiceId service, std::uint32_t value) {
    RegionHandle region;
    std::memcpy(&region, buffer.token.bytes, sizeof region);
    {
      const ServicePort::Visit visit(world.ni(0).services());
      world.ni(0).remote().put_notified(world.peer(0, 1), forged.data(), nullptr, region.address,
                                        region, forged.size(), service, value, &forgery);
    }
    settle();
  }

  std::uint64_t frames = 0;  // sent by the origin so far
  std::array<std::byte, 8> forged{};
  Operation forgery{[](Operation*, Result) {}};
};

}  // namespace

TEST_CASE("a large put and its notification are one request", "[neon_service]") {
  Granted at;
  const auto data = pattern(kBytes, 2);
  const Put& put = at.put(0, data);
  at.settle();
  CHECK((put.ended.calls == 1 && put.ended.status == Status::ok));
  CHECK((at.buffer.ended.calls == 2 && at.buffer.ended.status == Status::ok));
  CHECK(at.holds(data));
  CHECK(at.count(0, Counter::puts_notified) == 1);
  CHECK(at.count(0, Counter::frames_sent) == at.frames);
  CHECK(at.all_counted());
}

TEST_CASE("a put whose generation has other frames or writes notifies in a frame",
          "[neon_service]") {
  Granted at;
  const auto data = pattern(kBytes / 2, 2);
  SECTION("a write under way") { at.put(0, pattern(kBytes / 2, 3), 0, false); }
  SECTION("a small put") { at.put(0, pattern(64, 3), 0, false); }
  at.put(0, data, kBytes / 2);
  at.settle();
  CHECK(at.buffer.ended.calls == 2);
  CHECK(at.holds(data, kBytes / 2));
  CHECK(at.count(0, Counter::puts_notified) == 0);
  CHECK(at.count(0, Counter::frames_sent) > at.frames);
  CHECK(at.all_counted());
}

TEST_CASE("a put behind writes that have ended notifies with its write", "[neon_service]") {
  Granted at;
  const auto first = pattern(kBytes / 2, 3);
  const auto second = pattern(kBytes / 2, 4);
  at.put(0, first, 0, false);
  at.settle();
  at.put(0, second, kBytes / 2);
  at.settle();
  CHECK(at.buffer.ended.calls == 2);
  CHECK((at.holds(first) && at.holds(second, kBytes / 2)));
  CHECK(at.count(0, Counter::puts_notified) == 1);
  CHECK(at.count(0, Counter::frames_sent) == at.frames);
}

TEST_CASE("a put that the link cannot notify with is written, and notifies in a frame",
          "[neon_service]") {
  Granted at({.seed = 3, .remote_memory = true, .notified_puts = kBytes - 1});
  const auto data = pattern(kBytes, 2);
  at.put(0, data);
  at.settle();
  CHECK(at.buffer.ended.calls == 2);
  CHECK(at.holds(data));
  CHECK(at.count(0, Counter::puts_notified) == 0);
  CHECK(at.count(0, Counter::put_native_bytes) == kBytes);
  CHECK(at.count(0, Counter::frames_sent) == at.frames + 1);
  CHECK(at.all_counted());
}

TEST_CASE("a window of one credit carries notified writes, each exactly once", "[neon_service]") {
  Granted at({.seed = 9, .refuse_permille = 300, .remote_memory = true, .notified_puts = kBytes},
             {.initial_window = 1, .maximum_window = 1});
  for (unsigned round = 0; round < 50; ++round) {
    const auto data = pattern(kBytes, round);
    const auto small = pattern(16, round + 1);
    at.put(0, data);
    at.put(0, small);  // of the next generation, which is not announced yet
    REQUIRE(at.world.run_until(
        [&] { return at.buffer.ended.calls == 2 * static_cast<int>(round) + 2; }));
    REQUIRE(at.holds(data));
    at.announce({0});
    REQUIRE(at.world.run_until(
        [&] { return at.buffer.ended.calls == 2 * static_cast<int>(round) + 3; }));
    REQUIRE(at.holds(small));
    at.announce({0});
    at.settle();
    for (const Put& each : at.puts) REQUIRE(each.ended.calls == 1);
    at.puts.clear();
  }
  CHECK(at.count(0, Counter::puts_notified) == 50);
  CHECK(at.count(0, Counter::peers_broken) + at.count(1, Counter::peers_broken) == 0);
  CHECK(at.all_counted());
}

TEST_CASE("a notification of a withdrawn buffer comes to nothing", "[neon_service]") {
  Granted at;
  const Put& put = at.put(0, pattern(kBytes, 2));
  {
    const Ni::Access access(at.world.ni(1));
    REQUIRE(at.windows[1]->neon().target().withdraw(at.buffer));
  }
  at.settle();
  CHECK(put.ended.calls == 1);
  CHECK(at.buffer.ended.calls == 1);
  CHECK(at.buffer.unheard == 0);
  CHECK(at.count(1, Counter::peers_broken) == 0);
  at.announce({0});
  const auto data = pattern(kBytes, 3);
  at.settle();
  at.put(0, data);
  at.settle();
  CHECK(at.buffer.ended.calls == 2);
  CHECK(at.holds(data));
}

TEST_CASE("forged notifications count nothing, and end the connection", "[neon_service]") {
  Granted at;
  const std::uint32_t key = neon::notification_key(1, 2);  // of the generation that is announced
  SECTION("no number") { at.forge(ServiceId::neon, neon::notification_key(0, 2)); }
  SECTION("a number that no stream has") {
    at.forge(ServiceId::neon, neon::notification_key(2, 2));
  }
  SECTION("the largest number") { at.forge(ServiceId::neon, kNotificationMask); }
  SECTION("the generation before") { at.forge(ServiceId::neon, key - 1); }
  SECTION("the next generation") { at.forge(ServiceId::neon, key + 1); }
  SECTION("no service") { at.forge(ServiceId{7}, key); }
  SECTION("the same once more") {
    at.put(0, pattern(kBytes, 2));
    at.settle();
    REQUIRE(at.buffer.ended.calls == 2);
    at.forge(ServiceId::neon, key);
    CHECK(at.buffer.ended.calls == 2);
    CHECK(at.count(1, Counter::peers_broken) == 1);
    return;
  }
  CHECK(at.count(1, Counter::peers_broken) == 1);
  // The lost origin ends the announcement, without a notification.
  CHECK((at.buffer.ended.calls == 2 && at.buffer.ended.status == Status::unreachable));
}

TEST_CASE("a notification of a freed window is dropped", "[neon_service]") {
  Granted at;
  at.windows[1].reset();
  at.forge(ServiceId::neon, neon::notification_key(1, 2));
  CHECK(at.count(1, Counter::peers_broken) == 0);
}

TEST_CASE("numbers of notification keys are used again when their window is freed", "[neon]") {
  Setting at(2);
  NotificationKeys keys;
  NeonWindow& first = *at.windows[0];
  NeonWindow& second = *at.windows[1];
  using neon::notification_key;
  CHECK(keys.key({&first, 3, 7}, 5) == notification_key(1, 5));
  CHECK(keys.key({&first, 3, 7}, 6) == notification_key(1, 6));
  CHECK(keys.key({&second, 4, 8}, 1) == notification_key(2, 1));
  keys.leave(first);
  REQUIRE(keys.find(notification_key(1, 5)) != nullptr);
  CHECK(keys.find(notification_key(1, 5))->window == nullptr);
  CHECK(keys.find(notification_key(2, 5))->origin == 4);
  CHECK(keys.key({&second, 5, 9}, 1) == notification_key(1, 1));
  CHECK(keys.key({&second, 6, 9}, 1) == notification_key(3, 1));
  CHECK(keys.find(notification_key(4, 0)) == nullptr);
  CHECK(keys.find(5) == nullptr);
}

}  // namespace lfc
