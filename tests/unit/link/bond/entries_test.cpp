// The first frames on connections of rails: a connection joins the session for which it was made, or none.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "link/bond/bond_wire.hpp"
#include "link/bond/session.hpp"
#include "unit/link/bond/world.hpp"

namespace lfc {
namespace {

using bond::Head;
using bond::Note;
using bond::NoteKind;
using namespace two_bonds;

// Fabrics that neither stall nor refuse.
SimOptions calm() {
  SimOptions options;
  options.stall_permille = options.refuse_permille = 0;
  options.maximum_delay = 2;
  return options;
}

void poll_alone(World& world, int node, int ticks) {
  for (; ticks > 0; --ticks) {
    world.tick();
    world.nodes[node].link->poll();
  }
}

void exchange(World& world, int from) {
  auto& frames = world.nodes[1 - from].frames;
  const std::size_t before = frames.size();
  const auto bytes = bytes_of(16, before + 3);
  REQUIRE(
      world.until([&] { return world.send(from, FrameType::message, bytes) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return frames.size() == before + 1; }));
  CHECK(frames.back().second == bytes);
}

// Node 0 has just begun to connect over rail 1, for the first time, in a session that works over rail 0.
struct Late {
  Late() : world(31, 2) {
    world.fabrics[1]->cut(0, 1);
    REQUIRE(world.connect(0));
    exchange(world, 0);
    world.fabrics[1]->mend(0, 1);
    const auto hellos = [&] { return world.fabrics[1]->totals().frames; };
    while (hellos() == 0) poll_alone(world, 0, 1);
  }
  World world;
};

// A bond whose peer is a bare sim link for each of two rails, which has connected.
struct Bare {
  Bare() {
    a.identity = {{1, 0}, 7, 8};
    a.expected_peer = 2;
    BondOptions options;
    options.now = [] { return g_now; };
    a.link = make_bond_link(options, a, a.counters);
    AddressWriter other({{1, 1}, 8, 8});
    for (std::size_t rail = 0; rail < 2; ++rail) {
      fabrics[rail] = std::make_unique<SimFabric>(SimOptions{});
      a.link->add_rail("sim", fabrics[rail]->make_link(a.link->rail_sink(), a.counters), {});
      links[rail] = fabrics[rail]->make_link(ends[rail], ends[rail].counters);
      if (rail == 0) links[rail]->publish(other);
    }
    const bond::Section section{bond::kBondVersion, 2, 0};
    other.add("bond", std::as_bytes(std::span(&section, 1)));
    address = std::move(other).finish();
    AddressWriter own(a.identity);
    a.link->publish(own);
    blob = std::move(own).finish();
    a.link->set_own_address(without_key(blob));
  }
  ~Bare() {
    for (auto& link : links) link.reset();
    a.link.reset();
  }
  void connect(std::size_t rail) {
    std::string why_not;
    links[rail]->set_own_address(without_key(address));
    REQUIRE(links[rail]->connect(0, *Address::parse(blob), why_not));
    step();
  }
  void step() {
    for (int ticks = 200; ticks > 0; --ticks) {
      g_now += std::chrono::milliseconds(1);
      for (auto& fabric : fabrics) fabric->advance();
      for (auto& link : links) link->poll();
      a.link->poll();
    }
  }
  template <class Rest>
  void send(std::size_t rail, FrameType type, Head head, const Rest& rest) {
    const Slice slices[] = {{&head, sizeof head}, {&rest, sizeof rest}};
    REQUIRE(links[rail]->send(0, {type}, slices, 2) == SendStatus::sent);
  }
  // The kinds of the notes that have arrived on the rail.
  std::vector<NoteKind> notes(std::size_t rail) const {
    std::vector<NoteKind> kinds;
    for (const auto& [meta, bytes] : ends[rail].frames)
      if (meta.type == FrameType::rail)
        kinds.push_back(load_pod<Note>(bytes.data() + sizeof(Head)).kind);
    return kinds;
  }

  std::array<std::unique_ptr<SimFabric>, 2> fabrics;
  std::array<std::unique_ptr<Link>, 2> links;
  std::array<Node, 2> ends;
  Node a;
  std::vector<std::byte> address, blob;
};

}  // namespace

TEST_CASE("a late connection of a session that the peer has closed joins no later one", "[bond]") {
  Late late;
  World& world = late.world;
  world.nodes[1].link->close(world.peer(1));
  REQUIRE(world.connect(1));
  poll_alone(world, 1, 200);  // the connection arrives; the goodbye of node 1 waits for node 0
  const auto bytes = bytes_of(24, 1);
  if (world.send(1, FrameType::message, bytes) == SendStatus::again)
    REQUIRE(
        world.until([&] { return world.send(1, FrameType::message, bytes) == SendStatus::sent; }));
  REQUIRE(world.until([&] { return world.nodes[0].frames.size() == 1; }));
  CHECK(world.nodes[0].frames[0].second == bytes);
  exchange(world, 1);
  exchange(world, 0);
  for (int i = 0; i < 5000; ++i) world.step();
  CHECK(world.nodes[0].frames.size() == 2);
  CHECK(world.nodes[0].broken + world.nodes[1].broken == 0);
}

TEST_CASE("a late connection of a session that the peer has closed is no loss", "[bond]") {
  Late late;
  World& world = late.world;
  world.nodes[1].link->close(world.peer(1));
  world.nodes[1].peer_address = nullptr;  // so it cannot connect the rails that the peer does not
  poll_alone(world, 1, 200);
  poll_alone(world, 0, 200);
  world.fabrics[1]->cut(0, 1);  // the end of the late connection
  for (int i = 0; i < 5000; ++i) world.step();
  CHECK(world.nodes[0].broken + world.nodes[1].broken == 0);
  world.fabrics[1]->mend(0, 1);
  REQUIRE(world.connect(0));
  exchange(world, 0);
  exchange(world, 1);
  CHECK(world.nodes[0].broken + world.nodes[1].broken == 0);
}

TEST_CASE("a connection of another session of the peer carries no frame of this one", "[bond]") {
  Bare bare;
  const Node& a = bare.a;
  const bool in_session = GENERATE(true, false);
  bare.connect(0);
  bare.connect(1);
  bare.send(0, FrameType::rail, {9, 0}, Note{NoteKind::enter, 0, 0, 1});
  bare.send(0, FrameType::message, {1, 0}, std::uint64_t{11});
  bare.step();
  CHECK(a.frames.size() == 1);
  // The second connection was made for another session of ours, or for another one of the peer's.
  const Head names = in_session ? Head{9, 5} : Head{10, 0};
  bare.send(1, FrameType::rail, names, Note{NoteKind::enter, 1, 0, 1});
  bare.send(1, FrameType::message, {2, 0}, std::uint64_t{22});
  bare.step();
  CHECK(a.frames.size() == 1);
  bare.send(0, FrameType::message, {2, 0}, std::uint64_t{33});
  bare.step();
  REQUIRE(a.frames.size() == 2);
  CHECK(a.frames[1].second[0] == std::byte{33});
  CHECK(a.broken == 0);
}

TEST_CASE("the time to confirm a return begins when the rail is connected again", "[bond]") {
  Bare bare;
  for (const std::uint8_t rail : {std::uint8_t{0}, std::uint8_t{1}}) {
    bare.connect(rail);
    bare.send(rail, FrameType::rail, {9, 0}, Note{NoteKind::enter, rail, 0, 1});
    bare.step();
  }
  const Slice slice{"frame", 5};
  bare.send(1, FrameType::rail, {1, 0}, Note{NoteKind::leave, 0, 0, 1});
  bare.step();
  REQUIRE(bare.a.link->send(2, {FrameType::message}, &slice, 1) == SendStatus::sent);
  bare.step();
  CHECK(bare.ends[1].frames.back().first.type == FrameType::message);
  bare.links[0]->abandon(0);
  std::string why_not;
  REQUIRE(bare.links[0]->connect(0, *Address::parse(bare.blob), why_not));
  bare.fabrics[0]->advance(200);
  g_now += std::chrono::hours(1);  // without a poll, so the attempt of our end is long due
  bare.step();
  bare.send(0, FrameType::rail, {9, 1}, Note{NoteKind::enter, 0, 0, 2});
  bare.send(1, FrameType::rail, {0, 2}, Note{NoteKind::reply, 1, 0, 1});
  bare.step();
  CHECK(bare.a.counters.get(Counter::rails_lost) == 1);
  CHECK(bare.a.counters.get(Counter::rails_returned) == 1);
  CHECK(bare.a.broken == 0);
}

TEST_CASE("a peer that ends before its first frame is lost", "[bond]") {
  World world(31, 1, calm());
  REQUIRE(world.connect(0));
  poll_alone(world, 0, 2);
  poll_alone(world, 1, 5);
  world.fabrics[0]->cut(0, 1);
  for (int ticks = 2000; ticks > 0; --ticks) world.step();
  CHECK(world.nodes[0].broken == 1);
  CHECK(world.nodes[1].broken == 1);
}

TEST_CASE("frames that wait for another rail arrive after close()", "[bond]") {
  World world(31, 2, calm());
  world.fabrics[1]->cut(0, 1);
  REQUIRE(world.connect(0));
  exchange(world, 0);
  for (int frames = 128; frames > 0; --frames) exchange(world, 1);
  for (int ticks = 50; ticks > 0; --ticks) world.step();
  world.fabrics[1]->mend(0, 1);
  const auto hellos = world.fabrics[1]->totals().frames;
  while (world.fabrics[1]->totals().frames == hellos) poll_alone(world, 0, 1);
  world.fabrics[0]->silence(0, 1);
  const std::size_t before = world.nodes[1].frames.size();
  REQUIRE(world.send(0, FrameType::message, bytes_of(16, 77)) == SendStatus::sent);
  world.fabrics[0]->cut(0, 1);
  poll_alone(world, 0, 3);
  world.nodes[0].link->close(world.peer(0));
  for (int ticks = 100'000; ticks > 0; --ticks) world.step();
  CHECK(world.nodes[1].frames.size() == before + 1);
}

TEST_CASE("two sessions are each other's ends by their names", "[bond]") {
  bond::SessionNames names{5, 0};
  CHECK(names.pair(9, 0));
  CHECK(names.pair(9, 5));
  CHECK_FALSE(names.pair(9, 6));
  CHECK_FALSE(names.pair(0, 0));
  names.theirs = 9;
  CHECK(names.pair(9, 5));
  CHECK_FALSE(names.pair(8, 0));
}

}  // namespace lfc
