// Which messages wait here, and when a key is offered, closed and removed.
#include "services/channels/protocol/receiver.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "catch.hpp"
#include "matching_world.hpp"

using namespace channels_test;

TEST_CASE("channels: requests that repeat take their messages here, and offer first",
          "[channels]") {
  World world;
  for (int round = 0; round < 10; ++round) {
    world.start(kA);
    world.send(0, false);
  }
  CHECK(world.offers >= 1);
  CHECK(world.receiver().totals().on_channel == 0);
  for (int round = 0; round < 100; ++round) {
    world.start(kA);
    world.start(kB);
    world.send(0, true);
    world.send(0, true);
  }
  CHECK(world.right());
  CHECK(world.receiver().totals().on_channel == 198);  // the first found requests posted below
  CHECK(world.receiver().totals().given == 2);
}

TEST_CASE("channels: messages that come before their receives wait for them, up to a limit",
          "[channels]") {
  World world;
  run(world, "14051405");
  const lfc::channels::Totals before = world.receiver().totals();
  run(world, "01");
  CHECK(world.receiver().totals().early == before.early + 1);
  CHECK(world.receiver().totals().given == before.given);
  constexpr auto kMost = lfc::channels::EarlyMessages<Key>::kMost;
  for (std::size_t i = 0; i < kMost; ++i) run(world, "0");
  CHECK(world.receiver().totals().given == before.given);
  run(world, "0");
  CHECK(world.receiver().totals().given == before.given + kMost + 1);
  for (std::size_t i = 0; i <= kMost; ++i) run(world, "1");
  CHECK(world.right());
}

TEST_CASE("channels: a receive of others costs one turn below, and no more", "[channels]") {
  World world;
  run(world, "1010101010");
  for (int round = 0; round < 20; ++round) {
    world.other(kAny, 0);
    world.send(0, true);
    const std::uint64_t before = world.receiver().totals().on_channel;
    for (int turn = 0; turn < 10; ++turn) {
      world.start(kA);
      world.send(0, true);
    }
    CHECK(world.receiver().totals().on_channel == before + 9);
  }
  CHECK(world.right());
}

TEST_CASE("channels: a message taken by a probe does not keep requests below for long",
          "[channels]") {
  World world;
  run(world, "1010101010");
  world.send(0, true);
  world.take_by_probe();
  for (int turn = 0; turn < 200; ++turn) {
    world.start(kA);
    world.send(0, true);
  }
  CHECK(world.right());
  CHECK(world.receiver().totals().on_channel >= 130);
}

TEST_CASE("channels: a key goes with its last request, and its messages go below", "[channels]") {
  World world;
  run(world, "14051405");
  const std::size_t keys = world.receiver().keys().all().size();
  const std::uint64_t given = world.receiver().totals().given;
  run(world, "5e");  // the early message is given below
  CHECK(world.receiver().keys().all().size() == keys - 1);
  CHECK(world.receiver().totals().given == given + 1);
  run(world, "5f44");
  CHECK(world.receiver().keys().all().size() == keys);
  CHECK(world.receiver().totals().given == given + 2);
  CHECK(world.right());
  const std::uint64_t on_channel = world.receiver().totals().on_channel;
  for (int turn = 0; turn < 10; ++turn) run(world, "45");
  CHECK(world.receiver().totals().on_channel >= on_channel + 8);
  CHECK(world.right());
}

TEST_CASE("channels: ordinary receives take their messages here", "[channels]") {
  World world;
  run(world, "10");  // the first message comes outside its channel
  for (int round = 0; round < 100; ++round) {
    world.start_ordinary();
    world.start_ordinary();
    run(world, "000");  // the last one is early
    world.start_ordinary();
  }
  CHECK(world.right());
  CHECK(world.receiver().totals().on_channel >= 298);
  CHECK(world.receiver().totals().early >= 99);
  world.start_ordinary();
  world.cancel_ordinary();
  run(world, "0g");
  CHECK(world.right());
}

TEST_CASE("channels: messages taken here save the time of their keys, also after these are removed",
          "[channels]") {
  World world;
  const std::array keys{Name{kComm, kSource, 0}, Name{kComm, kSource, 1}};
  world.receiver().find(keys[0])->gain_us = 0.5;
  world.receiver().find(keys[1])->gain_us = 2;
  run(world, "10101010");
  for (int round = 0; round < 5; ++round) {
    world.start(kC);
    world.send(1, true);
  }
  const auto on_channel = [&](const Name& name) {
    return static_cast<double>(world.receiver().find(name)->on_channel);
  };
  const double won_us = 0.5 * on_channel(keys[0]) + 2 * on_channel(keys[1]);
  CHECK(on_channel(keys[0]) > 0);
  CHECK(on_channel(keys[1]) > 0);
  CHECK(world.receiver().keys().won_us() == won_us);
  world.free(kC);
  REQUIRE(world.receiver().find(keys[1]) == nullptr);
  CHECK(world.receiver().keys().won_us() == won_us);
  world.receiver().forget(kComm);
  CHECK(world.receiver().keys().won_us() == won_us);
}

TEST_CASE("channels: a key that others receive is closed for good", "[channels]") {
  World world;
  run(world, "10101010");
  for (int round = 0; round < 600; ++round) {
    world.other(kSource, kAny);
    run(world, "0");
  }
  CHECK(world.closes == 1);
  const std::uint64_t on_channel = world.receiver().totals().on_channel;
  for (int round = 0; round < 100; ++round) run(world, "101g0");
  CHECK(world.receiver().totals().on_channel == on_channel);
  CHECK(world.closes == 1);
  CHECK(world.right());
}

TEST_CASE("channels: a key whose sender never uses a channel is closed", "[channels]") {
  World world;
  for (int round = 0; round < 300; ++round) run(world, "g3");
  CHECK(world.closes == 1);
  CHECK(world.offers >= 7);
  CHECK(world.offers <= 10);
  CHECK(world.right());
}

TEST_CASE("channels: bursts of receives close no key", "[channels]") {
  World world;
  for (int i = 0; i < 1000; ++i) world.start_ordinary();
  for (int i = 0; i < 1000; ++i) run(world, "3");
  CHECK(world.closes == 0);
  CHECK(world.right());
}

TEST_CASE("channels: a pinned key stays without persistent receives", "[channels]") {
  World world;
  const std::size_t keys = world.receiver().keys().all().size();
  Key& key = world.receiver().pin({{kComm, kSource, 50}, kPeer, kSelf});
  CHECK(&world.receiver().pin({{kComm, kSource, 50}, kPeer, kSelf}) == &key);
  Receive receive(key);
  world.receiver().add(receive);
  world.receiver().remove(receive);
  CHECK(world.receiver().keys().all().size() == keys + 1);
  world.receiver().forget(kComm);
  CHECK(world.receiver().keys().all().size() == 0);
}

TEST_CASE("channels: keys that come and go take no memory", "[channels]") {
  World world;
  const std::size_t keys = world.receiver().keys().all().size();
  const std::size_t places = world.receiver().keys().all().count();
  for (std::int32_t tag = 10; tag < 20000; ++tag) {
    Receive receive(world.receiver().key({{kComm, kSource, tag}, kPeer, kSelf}));
    world.receiver().add(receive);
    world.receiver().remove(receive);
  }
  CHECK(world.receiver().keys().all().size() == keys);
  CHECK(world.receiver().keys().all().count() == places);
}

TEST_CASE("channels: the streams of a communicator end with it", "[channels]") {
  World world;
  run(world, "10101");
  world.receiver().forget(kComm);
  CHECK(world.receiver().keys().all().size() == 0);
  CHECK(world.receiver().find(Name{kComm, kSource, 0}) == nullptr);
  CHECK(world.receiver().on_frame({kComm, kSource, 0}, 77) == 77);
}
