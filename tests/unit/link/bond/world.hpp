// Two processes with a bond each, joined by several simulated fabrics. A tick is a millisecond of virtual time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "flight.hpp"
#include "link/bond/bond_link.hpp"
#include "link/sim/random.hpp"
#include "link/sim/sim_fabric.hpp"
#include "published.hpp"

namespace lfc::two_bonds {

inline std::chrono::steady_clock::time_point g_now{};

struct Node final : FrameSink {
  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override {
    if (peer != expected_peer) wrong = "a frame of another peer";
    if (reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0) wrong = "an unaligned payload";
    frames.push_back({meta, {payload.begin(), payload.end()}});
  }
  PeerId on_connect(Link&, const Address&) override {
    known = true;
    return expected_peer;
  }
  const Address* published(const Address&) const override { return peer_address; }
  void on_broken(PeerId, Link&, std::string_view why) override {
    ++broken;
    why_broken = why;
  }

  Identity identity;
  Counters counters;
  std::unique_ptr<Bond> link;
  std::optional<Address> address;
  const Address* peer_address = nullptr;
  PeerId expected_peer = 0;
  bool known = false;  // there is a peer to send to
  std::vector<std::pair<Meta, std::vector<std::byte>>> frames;
  std::string wrong;
  int broken = 0;
  std::string why_broken;
};

class World {
 public:
  // Rails behind the first `for_frames` carry chunks only.
  World(std::uint64_t seed, std::size_t rails, SimOptions options = {},
        std::size_t for_frames = 8) {
    options.remote_memory = true;
    for (std::size_t rail = 0; rail < rails; ++rail) {
      options.seed = seed * 8 + rail;
      fabrics.push_back(std::make_unique<SimFabric>(options));
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      Node& node = nodes[rank];
      node.identity = {{1, rank}, 0x100u + rank, 8};
      node.expected_peer = 5 + rank;
      BondOptions bond_options;
      bond_options.now = [] { return g_now; };
      node.link = make_bond_link(bond_options, node, node.counters);
      for (auto& fabric : fabrics) {
        const bool all = node.link->rails() < for_frames;
        node.link->add_rail("sim", fabric->make_link(node.link->rail_sink(), node.counters),
                            all ? RailUse::all : RailUse::chunks);
      }
      node.address = Address::parse(publish(*node.link, node.identity));
    }
    for (int node : {0, 1}) nodes[node].peer_address = &*nodes[1 - node].address;
  }
  ~World() {
    for (Node& node : nodes) node.link.reset();
  }

  PeerId peer(int node) const { return nodes[node].expected_peer; }
  bool connect(int node) {
    std::string why_not;
    nodes[node].known = true;
    return nodes[node].link->connect(peer(node), *nodes[1 - node].address, why_not);
  }
  void tick() {
    g_now += std::chrono::milliseconds(1);
    for (auto& fabric : fabrics) fabric->advance();
  }
  void step() {
    tick();
    for (Node& node : nodes) node.link->poll();
  }
  template <class Condition>
  bool until(Condition condition, int ticks = 60'000) {
    for (; ticks > 0; --ticks) {
      if (condition()) return true;
      step();
    }
    return false;
  }
  SendStatus send(int node, FrameType type, const std::vector<std::byte>& bytes) {
    const Slice slice{bytes.data(), bytes.size()};
    return nodes[node].link->send(peer(node), {type, 3, 0}, &slice, 1);
  }

  std::vector<std::unique_ptr<SimFabric>> fabrics;
  Node nodes[2];
};

inline std::vector<std::byte> bytes_of(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

// Memory that node 1 exposes, and as much memory of node 0 as source or destination.
struct Exposed {
  Exposed(World& of, std::size_t size) : Exposed(of, size, size) {}
  // `permitted`: how many of its bytes others may access.
  Exposed(World& of, std::size_t size, std::size_t permitted)
      : world(of), there(size), here(bytes_of(size, 1)) {
    REQUIRE(world.nodes[1].link->register_memory(there.data(), permitted, region));
  }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(there.data()); }
  void put(Flight& flight, std::size_t size) {
    REQUIRE(world.nodes[0].link->put(world.peer(0), here.data(), {}, base(), region, size,
                                     &flight) == Link::Start::started);
  }
  void put(Flight& flight) { put(flight, here.size()); }
  void get(Flight& flight) {
    REQUIRE(world.nodes[0].link->get(world.peer(0), here.data(), {}, base(), region, here.size(),
                                     &flight) == Link::Start::started);
  }

  World& world;
  std::vector<std::byte> there, here;
  LinkRegion region;
};

}  // namespace lfc::two_bonds
