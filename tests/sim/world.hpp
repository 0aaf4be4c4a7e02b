// World: several NIs joined by a SimFabric, for tests, with the credit law as a check. Every other NI has a further
// link in front of that of the fabric, which reaches no peer. So the lists of links of two NIs differ.
//
//   World world(8, {.seed = 7}, {.initial_window = 1});
//   world.ni(0).post(world.peer(0, 1), message);
//   REQUIRE(world.run_until([&] { return done; }));     // false: timeout, see world.describe()
//   REQUIRE(world.credit_fault() == "");
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/faults.hpp"
#include "engine/ni.hpp"
#include "link/sim/random.hpp"
#include "link/sim/sim_fabric.hpp"
#include "sim/unshared_link.hpp"

namespace lfc {

// A fabric drawn from the seed: large or small capacity, even or uneven delays, frames of at most `largest` bytes.
inline SimOptions random_fabric(std::uint64_t seed, std::uint64_t largest) {
  Random random(seed * 7919);
  SimOptions fabric;
  fabric.seed = seed;
  fabric.max_payload = random.between(64, largest);
  fabric.capacity = static_cast<std::uint32_t>(random.between(1, 10));
  fabric.control_reserve = static_cast<std::uint32_t>(random.between(2, 16));
  fabric.maximum_delay = static_cast<std::uint32_t>(random.between(1, 40));
  fabric.stall_permille = static_cast<std::uint32_t>(random.below(50));
  fabric.refuse_permille = static_cast<std::uint32_t>(random.below(200));
  return fabric;
}

class World {
 public:
  using Node = SimFabric::Node;

  // `odd_payload`: the payload of the largest frames of every other NI, if the fabric takes larger ones.
  World(Node nodes, const SimOptions& options, const Config& config,
        std::size_t odd_payload = SIZE_MAX)
      : fabric_(options), random_(options.seed ^ 0x5eed), ids_(nodes) {
    restart_faults(options.seed);
    for (Node node = 0; node < nodes; ++node) {
      Config own = config;
      own.name = {1, node};
      own.key = 0x1000 + node;
      auto& ni = *nis_.emplace_back(std::make_unique<Ni>(own));
      if (node % 2 != 0) ni.add_link(std::make_unique<UnsharedLink>(odd_payload));
      ni.add_link(fabric_.make_link(ni.sink(), ni.counters()));
    }
    for (auto& ni : nis_) addresses_.push_back(*Address::parse(ni->open()));
  }

  SimFabric& fabric() noexcept { return fabric_; }
  std::uint64_t now() const noexcept { return fabric_.now(); }
  Ni& ni(Node node) noexcept { return *nis_[node]; }
  Node size() const noexcept { return static_cast<Node>(nis_.size()); }

  // The index under which `node` knows `other`; the first call makes the peer.
  PeerId peer(Node node, Node other) {
    auto& ids = ids_[node];
    if (ids.empty()) ids.assign(nis_.size(), kNoPeer);
    std::string why_not;
    if (ids[other] == kNoPeer) ids[other] = nis_[node]->add_peer(addresses_[other], why_not);
    return ids[other];
  }
  // After remove_peer(): the next call of peer() makes the peer anew.
  void forget(Node node, Node other) { ids_[node][other] = kNoPeer; }
  const Peer& state(Node node, Node other) { return ni(node).peers().at(peer(node, other)); }
  // The node of a peer, by the name in its address.
  Node node_of(Node node, PeerId peer) {
    return ni(node).peers().at(peer).address.identity().name.rank;
  }

  // One tick. About every other NI makes progress, in a random order.
  int step() {
    fabric_.advance();
    int events = 0;
    const auto first = static_cast<Node>(random_.below(nis_.size()));
    for (Node i = 0; i < nis_.size(); ++i)
      if (random_.chance(500)) events += nis_[(first + i) % nis_.size()]->progress();
    return events;
  }
  template <class Condition>
  bool run_until(Condition condition, int limit = 200000) {
    for (int steps = 0; steps < limit; ++steps) {
      if (condition()) return true;
      step();
    }
    return condition();
  }
  // Runs until nothing is under way and nothing has happened for a while.
  bool settle(int limit = 200000) {
    int idle = 0;
    return run_until(
        [&] {
          idle = fabric_.quiet() ? idle + 1 : 0;
          return idle > 50;
        },
        limit);
  }

  // The sum of the credit law for the ordered pair, as a fault. `held`: messages in the receiver's host queue. Empty:
  // the sum equals the receiver's window.
  std::string credit_fault(Node sender, Node receiver, std::uint64_t held = 0) {
    const Peer& from = state(sender, receiver);
    const Peer& to = state(receiver, sender);
    const auto forth = fabric_.under_way(sender, receiver);
    const auto back = fabric_.under_way(receiver, sender);
    // A request keeps its buffer until the reply has left.
    std::uint64_t answers = 0;
    to.control.for_each(
        [&](const Peer::ControlFrame& frame) { answers += frame.releases ? 1 : 0; });
    const std::uint64_t buffers = held + to.services.size() + answers;
    const std::uint64_t sum = from.flow.credits().available() + forth.credited + buffers +
                              to.flow.window().owed() + back.credits;
    if (sum == to.flow.window().window() && buffers == to.flow.window().held()) return {};
    return "pair " + std::to_string(sender) + "->" + std::to_string(receiver) + ": credits " +
           std::to_string(from.flow.credits().available()) + " + in flight " +
           std::to_string(forth.credited) + " + held " + std::to_string(held) + " + services " +
           std::to_string(to.services.size()) + " + answers " + std::to_string(answers) +
           " + owed " + std::to_string(to.flow.window().owed()) + " + returning " +
           std::to_string(back.credits) + " is not the window " +
           std::to_string(to.flow.window().window());
  }
  // Checks all pairs, if no host queue is in use.
  std::string credit_fault() {
    for (Node sender = 0; sender < size(); ++sender)
      for (Node receiver = 0; receiver < size(); ++receiver) {
        if (sender == receiver) continue;
        const std::string fault = credit_fault(sender, receiver);
        if (!fault.empty()) return fault;
      }
    return {};
  }
  std::string describe() const {
    std::string out;
    for (Node node = 0; node < nis_.size(); ++node) {
      out += "node " + std::to_string(node) + "\n";
      nis_[node]->describe(out);
    }
    return out;
  }

 private:
  SimFabric fabric_;  // outlives the links in the NIs
  Random random_;
  std::vector<std::unique_ptr<Ni>> nis_;
  std::vector<Address> addresses_;
  std::vector<std::vector<PeerId>> ids_;
};

}  // namespace lfc
