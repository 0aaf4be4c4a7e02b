// Rails that return: lost ones, and those that could not be connected at the start.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/bond/session.hpp"
#include "link/sim/random.hpp"
#include "unit/link/bond/traffic.hpp"
#include "unit/link/bond/world.hpp"

namespace lfc {
namespace {

using namespace two_bonds;

std::uint64_t counted(const World& world, Counter counter) {
  return world.nodes[0].counters.get(counter) + world.nodes[1].counters.get(counter);
}
bool all_returned(const World& world) {
  return counted(world, Counter::rails_lost) == counted(world, Counter::rails_returned);
}
void deliver(World& world, int from, std::size_t size) {
  auto& frames = world.nodes[1 - from].frames;
  const std::size_t before = frames.size();
  const auto bytes = bytes_of(size, before + 7);
  REQUIRE(
      world.until([&] { return world.send(from, FrameType::message, bytes) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return frames.size() == before + 1; }));
  REQUIRE(frames.back().second == bytes);
}
// Frames from node 0 until this rail has carried some.
bool carries(World& world, std::size_t rail) {
  const auto bytes = [&] { return world.nodes[0].counters.get(rail_bytes(rail)); };
  const std::uint64_t before = bytes();
  for (int i = 0; i < 100 && bytes() == before; ++i) deliver(world, 0, limits::kBondSpread);
  return bytes() != before;
}
SimOptions large_frames() {
  SimOptions options;
  options.max_payload = 32 * 1024;
  return options;
}

}  // namespace

TEST_CASE("a lost rail returns, and the job goes on over it alone", "[bond]") {
  for (const bool silent : {false, true}) {
    World world(21, 2, large_frames());
    REQUIRE(world.connect(0));
    deliver(world, 0, 8);
    deliver(world, 1, 8);
    for (std::size_t round = 1; round <= 6; ++round) {
      const std::size_t rail = round % 2;
      SimFabric& fabric = *world.fabrics[rail];
      INFO("round " << round << (silent ? ", silent" : ", cut"));
      if (silent) {
        fabric.silence(0, 1);
      } else {
        fabric.cut(0, 1);
      }
      std::size_t frames = world.nodes[1].frames.size();
      const bool lost = world.until([&] {
        if (world.send(0, FrameType::message, bytes_of(32 * 1024 - 64, 1)) == SendStatus::sent)
          ++frames;
        return counted(world, Counter::rails_lost) == 2 * round;
      });
      REQUIRE(lost);
      REQUIRE(world.until([&] { return world.nodes[1].frames.size() == frames; }));
      deliver(world, 0, 8);
      deliver(world, 1, 8);
      REQUIRE(counted(world, Counter::rails_returned) == 2 * (round - 1));
      for (int i = 0; i < 5000; ++i) world.step();  // some attempts fail
      fabric.mend(0, 1);
      REQUIRE(world.until([&] { return all_returned(world); }));
      REQUIRE(carries(world, rail));
      REQUIRE(carries(world, 1 - rail));
    }
    for (const Node& node : world.nodes) {
      CHECK(node.broken == 0);
      CHECK(node.wrong.empty());
      CHECK(node.counters.get(Counter::rails_lost) == 6);
      CHECK(node.counters.get(Counter::frames_dropped) == 0);
    }
  }
}

TEST_CASE("a rail that could not be connected at the start is used once it can", "[bond]") {
  for (const bool silent : {false, true}) {
    World world(22, 2, large_frames());
    if (silent) {
      world.fabrics[0]->silence(0, 1);
    } else {
      world.fabrics[0]->cut(0, 1);
    }
    REQUIRE(world.connect(0));
    deliver(world, 0, 8);
    for (int i = 0; i < 3000; ++i) world.step();
    world.fabrics[0]->mend(0, 1);
    // No data flows that would need the rail. A silent one is noticed by the link's own timeout, which sim lacks.
    if (silent) continue;
    REQUIRE(world.until([&] { return counted(world, Counter::rails_returned) != 0; }));
    REQUIRE(carries(world, 0));
    world.fabrics[1]->cut(0, 1);
    deliver(world, 0, 8);
    deliver(world, 1, 8);
    CHECK(world.nodes[0].broken + world.nodes[1].broken == 0);
  }
}

TEST_CASE("a lost rail for chunks only returns", "[bond]") {
  World world(23, 3, {}, 1);
  REQUIRE(world.connect(0));
  Exposed memory(world, 4 << 20);
  const auto put = [&] {
    Flight flight;
    memory.put(flight);
    REQUIRE(world.until([&] { return flight.calls == 1; }));
    REQUIRE(flight.result == Result::ok);
  };
  put();
  world.fabrics[2]->cut(0, 1);
  put();
  REQUIRE(world.until([&] { return counted(world, Counter::rails_lost) == 2; }));
  world.fabrics[2]->mend(0, 1);
  REQUIRE(world.until([&] { return counted(world, Counter::rails_returned) == 2; }));
  const std::uint64_t before = world.nodes[0].counters.get(rail_bytes(2));
  put();
  CHECK(world.nodes[0].counters.get(rail_bytes(2)) > before);
  CHECK(world.fabrics[2]->totals().frames < 40);  // no frame of the NI's
  REQUIRE(memory.here == memory.there);
}

TEST_CASE("attempts to return become rare, and end with the session", "[bond]") {
  World world(24, 2);
  REQUIRE(world.connect(0));
  deliver(world, 0, 8);
  deliver(world, 1, 8);
  world.fabrics[1]->cut(0, 1);
  REQUIRE(world.until([&] { return counted(world, Counter::rails_lost) == 2; }));
  world.fabrics[1]->mend(0, 1);
  world.fabrics[1]->silence(
      0, 1);  // an attempt takes up to the link's timeout, which sim lacks: it is never given up
  const auto attempts = [&] { return world.fabrics[1]->totals().frames; };
  const std::uint64_t before = attempts();
  for (int i = 0; i < 200'000; ++i) world.step();
  CHECK(attempts() - before <= 20);
  world.nodes[0].link->close(world.peer(0));
  for (int i = 0; i < 1000; ++i) world.step();
  const std::uint64_t last = attempts();
  for (int i = 0; i < 100'000; ++i) world.step();
  CHECK(attempts() == last);
}

TEST_CASE("a lost rail may be connected again only when both ends have closed it", "[bond]") {
  bond::RailState rail;
  CHECK_FALSE(rail.may_return());
  rail.theirs = 0;
  rail.begin_connection();
  CHECK(rail.state == bond::RailState::State::joining);
  rail.state = bond::RailState::State::lost;
  CHECK_FALSE(rail.may_return());  // the peer may still place late bytes of ours
  rail.peer_left = true;
  CHECK(rail.may_return());
  for (bool* due : {&rail.close_due, &rail.leave_due}) {
    *due = true;
    CHECK_FALSE(rail.may_return());
    *due = false;
  }
  rail.chunks = 1;
  CHECK_FALSE(rail.may_return());
  rail.chunks = 0;
  rail.begin_connection();
  CHECK(rail.state == bond::RailState::State::returning);
  CHECK(rail.connection == 2);
  CHECK_FALSE(rail.peer_left);
}

TEST_CASE("pauses between attempts double, and begin anew when the rail has worked for long",
          "[bond]") {
  using namespace std::chrono_literals;
  bond::RailState rail;
  bond::Clock::time_point now{100s};
  std::vector<bond::Clock::duration> pauses;
  for (int i = 0; i < 7; ++i) {
    rail.put_off(now);
    pauses.push_back(rail.next_attempt - now);
  }
  CHECK(pauses == std::vector<bond::Clock::duration>{1s, 2s, 4s, 8s, 16s, 30s, 30s});
  rail.returned_at = now - 29s;
  rail.put_off(now);
  CHECK(rail.next_attempt - now == 30s);
  rail.returned_at = now - 31s;
  rail.put_off(now);
  CHECK(rail.next_attempt - now == 1s);
}

namespace {

// Rails fail and are mended at random moments, while others return. One stays whole until all others are back; then it
// is another one's turn.
struct Flaps {
  Flaps(World& world_, std::uint64_t seed) : world(world_), random(seed) {}

  void step() {
    if (left == 0) {
      for (std::size_t rail = 0; rail < world.fabrics.size(); ++rail) mend(rail);
      whole_for = all_returned(world) ? whole_for + 1 : 0;
      if (whole_for < 1000) return;  // a loss that was not noticed
      whole_for = 0;
      ++turns;
      whole = random.below(world.fabrics.size());
      left = 200 + random.below(1500);
    }
    --left;
    if (!random.chance(10)) return;
    const std::size_t rail = random.below(world.fabrics.size());
    if (rail == whole) return;
    switch (random.below(4)) {
      case 0: world.fabrics[rail]->cut(0, 1); return;
      case 1: world.fabrics[rail]->silence(0, 1); return;
      default: mend(rail);
    }
  }
  void mend(std::size_t rail) { world.fabrics[rail]->mend(0, 1); }

  World& world;
  Random random;
  std::size_t whole = 0;
  std::uint64_t left = 0, turns = 0, whole_for = 0;
};

std::uint64_t flap(std::uint64_t seed) {
  INFO("seed " << seed);
  Random random(seed);
  SimOptions options = large_frames();
  options.capacity = static_cast<std::uint32_t>(2 + random.below(12));
  options.maximum_delay = static_cast<std::uint32_t>(1 + random.below(20));
  options.stall_ticks = 30;
  options.late_puts = true;
  const std::size_t rails = 2 + random.below(3);
  World world(seed, rails, options);
  REQUIRE(world.connect(0));
  deliver(world, 0, 8);
  deliver(world, 1, 8);
  for (Node& node : world.nodes) node.frames.clear();
  for (int i = 0; i < 500; ++i) world.step();
  Traffic traffic(world, random.next(), 400, 60);
  Flaps flaps(world, random.next());
  for (std::uint64_t now = 0; now < 200'000 && !(traffic.finished() && flaps.turns > 3); ++now) {
    flaps.step();
    world.tick();
    g_now += std::chrono::milliseconds(4);
    for (int node : {0, 1}) {
      if (random.chance(10)) traffic.send_some(node);
      if (random.chance(20)) traffic.operate(node);
      if (random.chance(700)) world.nodes[node].link->poll();
    }
  }
  for (const Node& node : world.nodes) {
    INFO(node.wrong << node.why_broken);
    REQUIRE(node.wrong.empty());
    REQUIRE(node.broken == 0);
  }
  INFO("turns " << flaps.turns << " frames " << traffic.sent[0] << " " << traffic.sent[1] << " got "
                << world.nodes[1].frames.size() << " " << world.nodes[0].frames.size()
                << " operations " << traffic.done << " lost " << counted(world, Counter::rails_lost)
                << " returned " << counted(world, Counter::rails_returned));
  REQUIRE(traffic.finished());
  REQUIRE(flaps.turns > 3);
  for (int i = 0; i < 4000; ++i) world.step();  // late bytes of puts
  traffic.check_frames(0);
  traffic.check_frames(1);
  traffic.check_memory();
  return counted(world, Counter::rails_returned);
}

}  // namespace

TEST_CASE("nothing is lost or doubled while rails fail and return", "[bond]") {
  std::uint64_t returns = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) returns += flap(seed);
  CHECK(returns > 100);
}

TEST_CASE("nothing is lost or doubled while rails fail and return, with many seeds",
          "[bond][exhaustive]") {
  for (std::uint64_t seed = 101; seed <= 600; ++seed) flap(seed);
}

}  // namespace lfc
