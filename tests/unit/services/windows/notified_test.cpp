// Accumulates and fetches that take a notification with them in their frame.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "catch.hpp"
#include "unit/services/windows/protocol_world.hpp"

namespace lfc::rma {
namespace {

constexpr Rank kOrigin = 0, kTarget = 1;
const Run kWord{0, 8, 0, 1};

View words_at(void* base, std::size_t place) {
  return {
      static_cast<std::byte*>(base), static_cast<std::int64_t>(8 * place), {&kWord, 1}, 8, 1, 8};
}

// Adds `value` to a word of the target, and then 1 to a counter there. `result`: the old value goes there.
WindowCall notified_sum(std::size_t place, std::uint64_t& value, std::uint32_t counter,
                        std::uint64_t* result = nullptr) {
  WindowCall call;
  call.kind = result == nullptr ? WindowCall::Kind::accumulate : WindowCall::Kind::fetch;
  call.what = {Accumulate::sum, Element::u64};
  call.target = kTarget;
  call.origin = words_at(&value, 0);
  if (result != nullptr) call.result = words_at(result, 0);
  call.there = words_at(nullptr, place);
  call.bytes = 8;
  call.counter = counter;
  return call;
}

void issue(ProtocolWorld& world, const WindowCall& call) {
  Origin& origin = world.at(kOrigin).origin;
  REQUIRE(origin.check(call) == WindowStatus::ok);
  REQUIRE(origin.takes_notification(call));
  REQUIRE(origin.issue(call).status == WindowStatus::ok);
}

void lock(ProtocolWorld& world) {
  REQUIRE(world.at(kOrigin).epochs.begin_lock(kTarget, false, true) == WindowStatus::ok);
}

void deliver_all(ProtocolWorld& world) {
  while (world.deliver(0)) {
  }
}

// Lets the target serve a frame that adds 5 to its word 0, with a notification.
Verdict serve(ProtocolWorld& world, WindowKind kind, std::uint8_t flags, std::uint64_t counter,
              std::vector<Run> runs = {kWord}) {
  WindowHead head = head_of(kind, flags);
  head.rank = kOrigin;
  head.operation = static_cast<std::uint8_t>(Accumulate::sum);
  head.element = static_cast<std::uint8_t>(Element::u64);
  head.runs = static_cast<std::uint32_t>(runs.size());
  head.bytes = 8;
  head.offset = counter;
  std::vector<std::byte> rest(runs.size() * sizeof(Run) + 8);
  if (!runs.empty()) std::memcpy(rest.data(), runs.data(), runs.size() * sizeof(Run));
  rest[runs.size() * sizeof(Run)] = std::byte{5};
  return world.at(kTarget).on_head(kOrigin, head, rest);
}

}  // namespace

TEST_CASE("an accumulate and its notification are one frame", "[windows]") {
  ProtocolWorld world(2);
  lock(world);
  std::uint64_t value = 7;
  issue(world, notified_sum(3, value, 1));
  CHECK(world.on_their_way() == 1);
  REQUIRE(world.deliver(0));
  CHECK(world.word(kTarget, 3) == 7);
  CHECK(world.counter(kTarget, 1) == 1);
  CHECK(world.counter(kTarget, 0) == 0);
  deliver_all(world);
  CHECK(world.at(kOrigin).origin.peer(kTarget).remotely_complete());
  CHECK(world.counter(kTarget, 1) == 1);
}

TEST_CASE("a fetch and its notification are one frame, and the old value returns", "[windows]") {
  ProtocolWorld world(2);
  lock(world);
  std::uint64_t value = 7, old = 99;
  issue(world, notified_sum(2, value, 0, &old));
  CHECK(world.on_their_way() == 1);
  deliver_all(world);
  CHECK(old == 0);
  CHECK(world.word(kTarget, 2) == 7);
  CHECK(world.counter(kTarget, 0) == 1);
  CHECK(world.operations().count() == 0);
}

TEST_CASE("a notified accumulate waits for the lock with its notification", "[windows]") {
  ProtocolWorld world(2);
  REQUIRE(world.at(kOrigin).epochs.begin_lock(kTarget, true, false) == WindowStatus::ok);
  std::uint64_t value = 7;
  issue(world, notified_sum(3, value, 1));
  CHECK(world.counter(kTarget, 1) == 0);
  deliver_all(world);
  CHECK(world.word(kTarget, 3) == 7);
  CHECK(world.counter(kTarget, 1) == 1);
}

TEST_CASE("a notified accumulate behind a bundle keeps its notification", "[windows]") {
  for (const std::size_t credits : {1u, 16u}) {
    ProtocolWorld world(2, credits);
    lock(world);
    world.add(kOrigin, kTarget, 0, 1);
    world.add(kOrigin, kTarget, 0, 2);  // joins a bundle
    std::uint64_t value = 4;
    for (int i = 0; i < 3; ++i) issue(world, notified_sum(0, value, 0));
    world.add(kOrigin, kTarget, 0, 32);
    while (!world.at(kOrigin).origin.peer(kTarget).remotely_complete()) {
      world.at(kOrigin).origin.send_bundles();
      REQUIRE(world.deliver(0));
    }
    CHECK(world.word(kTarget, 0) == 1 + 2 + 3 * 4 + 32);
    CHECK(world.counter(kTarget, 0) == 3);
    CHECK(world.operations().count() == 0);
  }
}

TEST_CASE("an unlock that rides in a notified accumulate leaves the notification", "[windows]") {
  ProtocolWorld world(2);
  REQUIRE(world.at(kOrigin).epochs.begin_lock(kTarget, true, false) == WindowStatus::ok);
  std::uint64_t value = 7;
  issue(world, notified_sum(3, value, 1));
  Epochs::let_unlock_ride(world.at(kOrigin).origin.use(kTarget));
  deliver_all(world);
  CHECK(world.at(kOrigin).origin.peer(kTarget).unlocked);
  CHECK(world.word(kTarget, 3) == 7);
  CHECK(world.counter(kTarget, 1) == 1);
}

TEST_CASE("no notification goes with an operation that is not one frame", "[windows]") {
  ProtocolWorld world(2);
  Origin& origin = world.at(kOrigin).origin;
  std::array<std::uint64_t, 2> values{7, 7};
  WindowCall call = notified_sum(0, values[0], 0);
  CHECK_FALSE(origin.takes_notification(call));  // no passive epoch
  lock(world);
  CHECK(origin.takes_notification(call));
  call.target = kOrigin;  // mapped
  CHECK_FALSE(origin.takes_notification(call));
  std::vector<Run> runs;  // of one byte, so irregular that each two take their room in the frame
  for (std::int64_t i = 0; i < 16; ++i) runs.push_back({i / 2 * 5 + i % 2 * 2, 1, 0, 1});
  const Run all{0, 16, 0, 1};
  call = notified_sum(0, values[0], 0);
  call.what.element = Element::u8;
  call.bytes = 16;
  call.origin = {reinterpret_cast<std::byte*>(values.data()), 0, {&all, 1}, 16, 1, 16};
  call.there = {nullptr, 0, runs, 64, 1, 16};
  REQUIRE(origin.check(call) == WindowStatus::ok);
  CHECK_FALSE(origin.takes_notification(call));
}

TEST_CASE("hostile notified accumulates count nothing", "[windows]") {
  ProtocolWorld world(2);
  const auto nothing = [&] {
    return world.word(kTarget, 0) == 0 && world.counter(kTarget, 0) == 0 &&
           world.counter(kTarget, 1) == 0;
  };
  // A counter that does not exist, and memory outside the window: rejected, and reported.
  for (const std::uint64_t counter : {std::uint64_t{2}, std::uint64_t{1} << 32, UINT64_MAX}) {
    CHECK(serve(world, WindowKind::accumulate, kNotify, counter) != Verdict::malformed);
    CHECK(world.at(kTarget).target.peer(kOrigin).ack_status == WindowStatus::range);
    CHECK(serve(world, WindowKind::fetch, kNotify | kWhole, counter) == Verdict::hold);
    CHECK(nothing());
  }
  CHECK(serve(world, WindowKind::accumulate, kNotify, 0, {{1 << 20, 8, 0, 1}}) !=
        Verdict::malformed);
  CHECK(nothing());
  // A part of a fetch, and a place without runs.
  CHECK(serve(world, WindowKind::fetch, kNotify, 0) == Verdict::malformed);
  CHECK(serve(world, WindowKind::accumulate, kNotify, 0, {}) == Verdict::malformed);
  CHECK(nothing());
  CHECK(serve(world, WindowKind::accumulate, kNotify, 1) != Verdict::malformed);
  CHECK(world.word(kTarget, 0) == 5);
  CHECK(world.counter(kTarget, 1) == 1);
}

}  // namespace lfc::rma
