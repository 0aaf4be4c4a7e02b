// Bonds over simulated rails; each delay, refusal and failure of a rail follows from one seed.
#include "link/bond/bond_link.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/bond/bond_wire.hpp"
#include "link/sim/random.hpp"
#include "link/sim/sim_fabric.hpp"
#include "unit/link/bond/traffic.hpp"
#include "unit/link/bond/world.hpp"

namespace lfc {
namespace {

using bond::Head;
using bond::Note;
using bond::NoteKind;
using namespace two_bonds;

// True when frames were sent again, so the caller can check that the test covers this.
bool survive(std::uint64_t seed, bool some_for_chunks_only) {
  INFO("seed " << seed);
  Random random(seed);
  const std::size_t rails = 2 + random.below(3);
  SimOptions options;
  static constexpr std::size_t kPayloads[] = {64, 256, 20'000, 40'000};
  options.max_payload = kPayloads[random.below(4)];
  options.capacity = static_cast<std::uint32_t>(1 + random.below(12));
  options.maximum_delay = static_cast<std::uint32_t>(1 + random.below(40));
  const std::size_t for_frames = some_for_chunks_only ? 1 + random.below(rails) : rails;
  World world(seed, rails, options, for_frames);
  REQUIRE(world.connect(0));
  if (random.chance(500)) REQUIRE(world.connect(1));
  Traffic traffic(world, random.next());

  std::vector<std::size_t> victims(rails);
  for (std::size_t i = 0; i < rails; ++i) victims[i] = i;
  for (std::size_t i = rails; i > 1; --i) std::swap(victims[i - 1], victims[random.below(i)]);
  victims.resize(random.below(rails));  // one survives
  if (some_for_chunks_only) std::erase(victims, seed % for_frames);
  std::map<std::uint64_t, std::size_t> deaths;
  for (const std::size_t rail : victims) deaths.emplace(random.below(3000), rail);

  for (std::uint64_t now = 0; now < 120'000 && !traffic.finished(); ++now) {
    for (auto death = deaths.find(now); death != deaths.end(); death = deaths.find(now)) {
      if (random.chance(500)) {
        world.fabrics[death->second]->cut(0, 1);
      } else {
        world.fabrics[death->second]->silence(0, 1);
      }
      deaths.erase(death);
    }
    world.tick();
    for (int node : {0, 1}) {
      if (world.nodes[node].known && random.chance(300)) traffic.send_some(node);
      if (world.nodes[node].known && random.chance(300)) traffic.operate(node);
      if (random.chance(700)) world.nodes[node].link->poll();
    }
  }
  for (const Node& node : world.nodes) {
    INFO(node.wrong << node.why_broken);
    REQUIRE(node.wrong.empty());
    REQUIRE(node.broken == 0);
  }
  INFO("frames " << traffic.sent[0] << " " << traffic.sent[1] << " got "
                 << world.nodes[1].frames.size() << " " << world.nodes[0].frames.size()
                 << " operations " << traffic.done);
  REQUIRE(traffic.finished());
  traffic.check_frames(0);
  traffic.check_frames(1);
  traffic.check_memory();
  return world.nodes[0].counters.get(Counter::rail_frames_again) +
             world.nodes[1].counters.get(Counter::rail_frames_again) !=
         0;
}

}  // namespace

TEST_CASE("nothing is lost or doubled when rails break", "[bond][exhaustive]") {
  int again = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) again += survive(seed, false) ? 1 : 0;
  REQUIRE(again > 200);  // frames were sent again in some of the runs
  for (std::uint64_t seed = 3001; seed <= 3800; ++seed) survive(seed, true);
}

TEST_CASE("all rails share a large put and get", "[bond]") {
  World world(1, 3);
  REQUIRE(world.connect(0));
  Exposed memory(world, 2 << 20);
  Flight put;
  memory.put(put);
  REQUIRE(world.until([&] { return put.calls == 1; }));
  REQUIRE(put.result == Result::ok);
  REQUIRE(memory.here == memory.there);
  for (std::size_t rail = 0; rail < 3; ++rail)
    CHECK(world.nodes[0].counters.get(rail_bytes(rail)) >= memory.here.size() / 10);
}

TEST_CASE("rails for chunks only are connected at the first large transfer, and carry no frame",
          "[bond]") {
  World world(8, 4, {}, 1);
  REQUIRE(world.connect(0));
  Exposed memory(world, 4 << 20);
  const auto put = [&](std::size_t size) {
    Flight flight;
    memory.put(flight, size);
    REQUIRE(world.until([&] { return flight.calls == 1; }));
    REQUIRE(flight.result == Result::ok);
  };
  const auto carried = [&](std::size_t rail) {
    return world.nodes[0].counters.get(rail_bytes(rail));
  };
  put(4096);
  const auto large = bytes_of(world.nodes[0].link->max_payload(), 2);
  for (std::size_t i = 1; i <= 40; ++i) {
    REQUIRE(
        world.until([&] { return world.send(0, FrameType::message, large) == SendStatus::sent; }));
    REQUIRE(world.until([&] { return world.nodes[1].frames.size() == i; }));
  }
  for (std::size_t rail = 1; rail < 4; ++rail) {
    CHECK(carried(rail) == 0);
    CHECK(world.fabrics[rail]->totals().frames == 0);
    CHECK(world.fabrics[rail]->totals().copies == 0);
  }
  for (int i = 0; i < 10; ++i) put(memory.there.size());
  REQUIRE(memory.here == memory.there);
  for (std::size_t rail = 0; rail < 4; ++rail) CHECK(carried(rail) >= memory.here.size() / 10);
  // The hello, its reply, an `enter` of each end, and no frame since.
  for (std::size_t rail = 1; rail < 4; ++rail) CHECK(world.fabrics[rail]->totals().frames <= 4);
}

TEST_CASE("a lost rail for chunks only costs no peer; the last one for frames does", "[bond]") {
  for (const bool silent : {false, true}) {
    World world(9, 3, {}, 1);
    REQUIRE(world.connect(0));
    Exposed memory(world, 4 << 20);
    for (int round = 0; round < 20; ++round) {
      memory.here = bytes_of(memory.there.size(), 10 + static_cast<std::uint64_t>(round));
      Flight put;
      memory.put(put);
      if (round == 10) {
        if (silent) {
          world.fabrics[2]->silence(0, 1);
        } else {
          world.fabrics[2]->cut(0, 1);
        }
      }
      REQUIRE(world.until([&] { return put.calls == 1; }));
      REQUIRE(put.result == Result::ok);
      REQUIRE(memory.here == memory.there);
    }
    REQUIRE(world.nodes[0].broken + world.nodes[1].broken == 0);
    CHECK(world.nodes[0].counters.get(Counter::rails_lost) == 1);
    world.fabrics[0]->cut(0, 1);
    REQUIRE(world.until([&] { return world.nodes[0].broken == 1 && world.nodes[1].broken == 1; }));
  }
}

TEST_CASE("the last rail for frames is not given up because one for chunks replies", "[bond]") {
  World world(10, 2, {}, 1);
  REQUIRE(world.connect(0));
  Exposed memory(world, 4 << 20);
  Flight put[6];
  for (Flight& each : put) {
    memory.put(each);
    if (&each == &put[5]) world.fabrics[0]->silence(0, 1);
    for (int i = 0; i < 20'000 && each.calls == 0; ++i) world.step();
  }
  CHECK(world.nodes[0].counters.get(rail_bytes(1)) != 0);
  CHECK(put[5].calls == 0);
  CHECK(world.nodes[0].broken + world.nodes[1].broken == 0);
}

TEST_CASE("an access that the target refuses fails once, as a whole", "[bond]") {
  World world(2, 2);
  REQUIRE(world.connect(0));
  Exposed memory(world, 1 << 20, 1 << 19);
  Flight get;
  memory.get(get);
  REQUIRE(world.until([&] { return get.calls != 0; }));
  for (int i = 0; i < 200; ++i) world.step();
  REQUIRE(get.calls == 1);
  REQUIRE(get.result == Result::bad_address);
  REQUIRE(world.nodes[0].broken == 0);
}

TEST_CASE("a put goes again only when the peer has closed the rail that lost it", "[bond]") {
  World world(3, 2);
  REQUIRE(world.connect(0));
  REQUIRE(world.until([&] { return world.send(0, FrameType::message, {}) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 1; }));
  Exposed memory(world, 600 * 1024);
  Flight put;
  memory.put(put);
  world.fabrics[1]->cut(0, 1);
  // Only the origin polls: the chunks of the other rail complete, the rest waits.
  for (int i = 0; i < 5000; ++i) {
    world.tick();
    world.nodes[0].link->poll();
  }
  REQUIRE(put.calls == 0);
  const std::uint64_t copies = world.fabrics[0]->totals().copies;
  REQUIRE(world.until([&] { return put.calls == 1; }));
  REQUIRE(world.fabrics[0]->totals().copies > copies);
  REQUIRE(put.result == Result::ok);
  REQUIRE(memory.here == memory.there);
}

TEST_CASE("a peer that computes loses no rail, and one rail without replies is given up in time",
          "[bond]") {
  World world(5, 2);
  REQUIRE(world.connect(0));
  REQUIRE(world.until([&] { return world.send(0, FrameType::message, {}) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 1; }));
  REQUIRE(world.send(0, FrameType::message, {}) == SendStatus::sent);
  for (int i = 0; i < 100'000; ++i) {  // the other end does not poll
    world.tick();
    world.nodes[0].link->poll();
  }
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 2; }));
  for (int i = 0; i < 5000; ++i) world.step();
  REQUIRE(world.nodes[0].counters.get(Counter::rails_lost) == 0);

  world.fabrics[0]->silence(0, 1);
  world.fabrics[1]->silence(1, 0);
  REQUIRE(world.send(0, FrameType::message, {}) == SendStatus::sent);
  for (int i = 0; i < 20'000; ++i) world.step();
  REQUIRE(world.nodes[0].counters.get(Counter::rails_lost) == 0);  // no second rail to prove it
}

TEST_CASE("a silent rail is given up after the time that was set", "[bond]") {
  World world(6, 2);
  REQUIRE(world.connect(0));
  REQUIRE(world.until([&] { return world.send(0, FrameType::message, {}) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 1; }));
  REQUIRE(world.send(0, FrameType::message, bytes_of(8, 1)) == SendStatus::sent);
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 2; }));
  const bool first = world.nodes[0].counters.get(Counter::rail0_bytes) != 0;
  world.fabrics[first ? 0 : 1]->silence(0, 1);
  const auto begin = g_now;
  REQUIRE(world.send(0, FrameType::message, {}) == SendStatus::sent);
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 3; }));
  const auto took = g_now - begin;
  CHECK(took >= std::chrono::milliseconds(1000));
  CHECK(took <= std::chrono::milliseconds(2500));
  CHECK(world.nodes[0].counters.get(Counter::rails_lost) == 1);
  REQUIRE(world.until([&] { return world.nodes[1].counters.get(Counter::rails_lost) == 1; }));
}

TEST_CASE("a process that was absent gives a silent rail the rest of its time", "[bond]") {
  World world(6, 2);
  REQUIRE(world.connect(0));
  REQUIRE(world.until([&] { return world.send(0, FrameType::message, {}) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 1; }));
  REQUIRE(world.send(0, FrameType::message, bytes_of(8, 1)) == SendStatus::sent);
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 2; }));
  const bool first = world.nodes[0].counters.get(Counter::rail0_bytes) != 0;
  world.fabrics[first ? 0 : 1]->silence(0, 1);
  REQUIRE(world.send(0, FrameType::message, {}) == SendStatus::sent);
  for (int i = 0; i < 700; ++i) world.step();  // the other rail has carried a reply by now
  g_now += std::chrono::hours(1);
  for (int i = 0; i < 300; ++i) world.step();
  CHECK(world.nodes[0].counters.get(Counter::rails_lost) == 0);
  REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 3; }));
  CHECK(world.nodes[0].counters.get(Counter::rails_lost) == 1);
}

TEST_CASE("the peer is broken, once, when its last rail is", "[bond]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    World world(seed, 3);
    REQUIRE(world.connect(0));
    REQUIRE(world.until([&] { return world.send(0, FrameType::message, {}) == SendStatus::sent; }));
    REQUIRE(world.until([&] { return world.nodes[1].frames.size() == 1; }));
    Exposed memory(world, 600 * 1024);
    Flight get;
    memory.get(get);
    Random random(seed);
    for (auto& fabric : world.fabrics) {
      for (std::uint64_t i = random.below(3); i > 0; --i) world.step();
      fabric->cut(0, 1);
    }
    REQUIRE(world.until([&] { return world.nodes[0].broken == 1 && world.nodes[1].broken == 1; }));
    REQUIRE(get.calls == 1);
    for (int i = 0; i < 100; ++i) world.step();
    REQUIRE(world.nodes[0].broken == 1);
    REQUIRE(get.calls == 1);
    REQUIRE(world.send(0, FrameType::message, {}) == SendStatus::broken);
  }
}

// --- A peer that violates the bond's protocol ---

TEST_CASE("a peer without a bond, and one that breaks the rules of bonds", "[bond]") {
  // The other end is a bare sim link. Its address claims to be a bond, or not.
  for (const bool claims : {false, true}) {
    SimFabric fabric(SimOptions{});
    Node a;
    a.identity = {{1, 0}, 7, 8};
    a.expected_peer = 2;
    BondOptions options;
    options.now = [] { return g_now; };
    a.link = make_bond_link(options, a, a.counters);
    a.link->add_rail("sim", fabric.make_link(a.link->rail_sink(), a.counters));
    Node b;
    b.expected_peer = 0;
    auto bare = fabric.make_link(b, b.counters);
    const auto address_of = [](const Identity& identity, const Link& link, bool bond) {
      AddressWriter writer(identity);
      link.publish(writer);
      const bond::Section section{bond::kBondVersion, 1, 0};
      if (bond) writer.add("bond", std::as_bytes(std::span(&section, 1)));
      return std::move(writer).finish();
    };
    const auto blob_a = address_of(a.identity, *a.link, false);
    const auto blob_b = address_of({{1, 1}, 8, 8}, *bare, claims);
    a.link->set_own_address(without_key(blob_a));
    bare->set_own_address(without_key(blob_b));
    std::string why_not;
    REQUIRE(bare->connect(0, *Address::parse(blob_a), why_not));
    const auto step = [&] {
      fabric.advance();
      a.link->poll();
      bare->poll();
    };
    const auto send = [&](FrameType type, std::vector<std::byte> bytes) {
      const Slice slice{bytes.data(), bytes.size()};
      for (int i = 0; i < 1000; ++i) {
        if (bare->send(0, {type}, &slice, 1) != SendStatus::again) break;
        step();
      }
      for (int i = 0; i < 500; ++i) step();
    };
    if (!claims) {
      send(FrameType::message, std::vector<std::byte>(5));
      REQUIRE(a.frames.size() == 1);
      REQUIRE(a.frames[0].second.size() == 5);
      const Slice slice{"reply", 5};
      REQUIRE(a.link->send(2, {FrameType::message}, &slice, 1) == SendStatus::sent);
      for (int i = 0; i < 500; ++i) step();
      REQUIRE(b.frames.size() == 1);
      REQUIRE(b.frames[0].second.size() == 5);
    } else {
      struct Lie {
        Head head;
        Note note;
      };
      static constexpr Lie kLies[] = {
          {{1, 77}, {NoteKind::leave, 0, 0, 0}},       // acknowledges a frame that was never sent
          {{100'000, 0}, {NoteKind::leave, 0, 0, 0}},  // far ahead
          {{1, 0}, {static_cast<NoteKind>(9), 0, 0, 0}},
          {{1, 0}, {NoteKind::leave, 200, 0, 0}},
      };
      const Lie& lie = kLies[GENERATE(0, 1, 2, 3)];
      for (const Lie& each : {Lie{{1, 0}, {NoteKind::enter, 0, 0, 1}}, lie}) {
        std::vector<std::byte> bytes(sizeof each);
        std::memcpy(bytes.data(), &each, sizeof each);
        send(FrameType::rail, bytes);
      }
      REQUIRE(a.broken == 1);
      REQUIRE(a.counters.get(Counter::frames_dropped) >= 1);
    }
    bare.reset();
    a.link.reset();
  }
}

}  // namespace lfc
