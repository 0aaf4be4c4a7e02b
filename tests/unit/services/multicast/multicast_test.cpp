// Multicast: single cases beside the simulation (tests/sim).
#include "services/multicast/multicast.hpp"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using Node = World::Node;

struct Recorder final : Multicast::Receiver {
  Reception take(const MulticastHeader& header, std::span<const std::byte>) override {
    numbers.push_back(header.number);
    origins.push_back(header.origin);
    if (refuses) return Reception::malformed;
    return ready ? Reception::taken : Reception::keep;
  }
  void keep(Multicast::Packet& packet) override { kept.push_back(&packet); }
  void lost(Multicast::Reason) override { ++losses; }

  bool ready = true;
  bool refuses = false;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint32_t> origins;
  std::vector<Multicast::Packet*> kept;
  int losses = 0;
};

// A chain 0 -> 1 -> ... of `nodes` NIs with one group of all.
struct Chain {
  explicit Chain(Node nodes, const Config& config, const Multicast::Options& options,
                 bool join_all = true,
                 const SimOptions& fabric = {.seed = 3, .max_payload = 1024, .stall_permille = 0})
      : world(nodes, fabric, config) {
    for (Node node = 0; node < nodes; ++node) {
      services.push_back(std::make_unique<Multicast>(world.ni(node).services(), options));
      receivers.push_back(std::make_unique<Recorder>());
      groups.push_back(nullptr);
    }
    for (Node node = 0; node < nodes; ++node)
      if (join_all || node == 0) join(node);
  }
  ~Chain() {
    for (Node node = 0; node < world.size(); ++node) {
      if (services[node] == nullptr) continue;
      release(node);
      if (groups[node] != nullptr) services[node]->leave(groups[node]);
    }
  }
  void join(Node self) { join(self, world.size()); }
  void join(Node self, Node members) {
    std::vector<ProcessName> names;
    std::vector<std::uint64_t> places;
    std::vector<PeerId> peers;
    for (Node node = 0; node < members; ++node) {
      names.push_back({1, node});
      places.push_back(node);
      peers.push_back(node == self ? kNoPeer : world.peer(self, node));
    }
    services[self]->join(groups[self], 9, Membership(names, places), self, peers, *receivers[self]);
  }
  void send(std::uint64_t number) {
    MulticastHeader header;
    header.number = number;
    header.shape = shape;
    services[0]->send(*groups[0], header, bytes, unsent);
  }
  void release(Node node) {
    for (Multicast::Packet* packet : receivers[node]->kept) services[node]->release(*packet);
    receivers[node]->kept.clear();
  }
  void drive_all_but(Node idle, int ticks) {
    for (; ticks > 0; --ticks) {
      world.fabric().advance();
      for (Node node = 0; node < world.size(); ++node)
        if (node != idle) world.ni(node).progress();
    }
  }
  std::uint64_t broken_peers(Node node) {
    return world.ni(node).counters().get(Counter::peers_broken);
  }
  std::size_t arrived(Node node) const { return receivers[node]->numbers.size(); }

  World world;
  std::vector<std::unique_ptr<Multicast>> services;
  std::vector<std::unique_ptr<Recorder>> receivers;
  std::vector<Multicast::Group*> groups;
  std::vector<std::byte> bytes = std::vector<std::byte>(500);
  std::atomic<std::uint32_t> unsent = 0;
  TreeShape shape = TreeShape::monotone;
};

// Ticks until the last of `packets` has arrived at the first and at the last inner node of a chain of depth 6.
std::pair<double, double> through_chain(int packets, const Multicast::Options& options) {
  Chain chain(
      7, {.initial_window = 64, .maximum_window = 64}, options, true,
      {.seed = 3, .max_payload = 1024, .capacity = 2, .maximum_delay = 4, .stall_permille = 0});
  const auto serve = [&](std::size_t at_least) {
    if (!options.forward_in_host) return;
    // Whole messages, as a library on top would take them.
    for (Node node = 1; node < 7; ++node)
      if (chain.services[node]->packets() >= at_least)
        chain.services[node]->serve(*chain.groups[node]);
  };
  chain.send(0);  // sets up the connections
  REQUIRE(chain.world.run_until([&] {
    serve(1);
    return chain.arrived(6) == 1;
  }));
  REQUIRE(chain.world.settle());
  const std::uint64_t begun = chain.world.now();
  const auto whole = static_cast<std::size_t>(packets) + 1;
  for (int number = 1; number <= packets; ++number) chain.send(static_cast<std::uint64_t>(number));
  std::vector<std::uint64_t> done(7);
  REQUIRE(chain.world.run_until([&] {
    serve(whole - 1);
    for (Node node = 1; node < 7; ++node)
      if (done[node] == 0 && chain.arrived(node) == whole) done[node] = chain.world.now() - begun;
    return done[6] != 0;
  }));
  return {static_cast<double>(done[1]), static_cast<double>(done[6])};
}

}  // namespace

TEST_CASE("neither forwarding nor a message waits for a host that does not take", "[multicast]") {
  Chain chain(3, {.initial_window = 4, .maximum_window = 4}, {});
  chain.receivers[1]->ready = false;  // the inner host computes, or waits for another event
  for (std::uint64_t number = 0; number < 100; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  REQUIRE(chain.arrived(2) == 100);
  REQUIRE(chain.unsent.load() == 0);
  REQUIRE(chain.services[1]->packets() == 100);
  REQUIRE(chain.services[1]->stats().stored == 100 * (chain.bytes.size() + MulticastPacket::kCost));
  // The packets occupy no credit, so a message for which the host may wait still arrives.
  REQUIRE(chain.world.credit_fault() == "");
  const Slice slices[2] = {{chain.bytes.data(), 4}, {chain.bytes.data(), 4}};
  REQUIRE(chain.world.ni(0).try_send(chain.world.peer(0, 1), 1, slices, 2));
  chain.receivers[1]->ready = true;
  chain.release(1);
  REQUIRE(chain.world.settle());
  for (Node node = 1; node < 3; ++node) {
    for (std::uint64_t number = 0; number < 100; ++number)
      REQUIRE(chain.receivers[node]->numbers[number] == number);
    REQUIRE(chain.services[node]->packets() == 0);
    REQUIRE(chain.services[node]->stats().stored == 0);
    REQUIRE(chain.receivers[node]->origins[0] == 0);  // the origin, not the last hop
  }
  REQUIRE(chain.services[1]->stats().most_stored ==
          100 * (chain.bytes.size() + MulticastPacket::kCost));
  REQUIRE(chain.world.credit_fault() == "");
}

TEST_CASE("a group that keeps more than its members may send is given up", "[multicast]") {
  const std::size_t cost = 500 + MulticastPacket::kCost;
  Chain chain(2, {.initial_window = 4, .maximum_window = 4}, {.share = 10 * cost});
  chain.receivers[1]->ready = false;
  for (std::uint64_t number = 0; number < 20; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  REQUIRE(chain.receivers[1]->losses == 0);  // as much as two members may send
  for (std::uint64_t number = 20; number < 100; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  CHECK(chain.receivers[0]->losses == 1);
  CHECK(chain.receivers[1]->losses == 1);
  CHECK(chain.arrived(1) == 21);
  CHECK(chain.services[1]->stats().most_stored == 21 * cost);
  CHECK(chain.broken_peers(1) == 0);
  CHECK(chain.world.credit_fault() == "");
}

TEST_CASE("packets for groups that are not joined are stored up to a bound", "[multicast]") {
  const std::size_t cost = 500 + MulticastPacket::kCost;
  Chain chain(2, {.initial_window = 4, .maximum_window = 4}, {.early = 10 * cost}, false);
  for (std::uint64_t number = 0; number < 100; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  CHECK(chain.services[1]->packets() == 11);
  CHECK(chain.broken_peers(1) == 1);
}

TEST_CASE("packets of any size are kept in about as many bytes", "[multicast]") {
  Chain chain(2, {.initial_window = 4, .maximum_window = 4}, {});
  chain.receivers[1]->ready = false;
  const std::size_t most = chain.services[1]->max_packet();
  for (std::size_t size = 0; size <= most; size += 7) {
    chain.bytes.resize(size);
    chain.send(size);
    REQUIRE(chain.world.settle());
    REQUIRE(chain.arrived(1) == size / 7 + 1);
    REQUIRE(chain.receivers[1]->kept.back()->bytes().size() == size);
    if (size % 3 == 0) chain.release(1);  // some serve again
  }
}

TEST_CASE("a packet that all members take at once is never copied", "[multicast]") {
  Chain chain(3, {.initial_window = 64, .maximum_window = 64}, {});
  for (std::uint64_t number = 0; number < 20; ++number) {
    chain.send(number);
    REQUIRE(chain.world.run_until([&] { return chain.arrived(2) == number + 1; }));
  }
  REQUIRE(chain.services[2]->stats().kept == 0);
  // The first packet waited for the connection.
  REQUIRE(chain.services[1]->stats().kept <= 1);
  REQUIRE(chain.services[1]->stats().forwarded == 20);
}

TEST_CASE("packets that come before their group wait for it", "[multicast]") {
  Chain chain(3, {.initial_window = 2, .maximum_window = 2}, {}, false);
  for (std::uint64_t number = 0; number < 10; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  REQUIRE(chain.arrived(1) == 0);
  REQUIRE(chain.services[1]->stats().early == 10);
  chain.join(1);
  chain.join(2);
  REQUIRE(chain.world.run_until([&] { return chain.arrived(2) == 10; }));
  for (std::uint64_t number = 0; number < 10; ++number) {
    REQUIRE(chain.receivers[1]->numbers[number] == number);
    REQUIRE(chain.receivers[2]->numbers[number] == number);
  }
  REQUIRE(chain.world.settle());
  REQUIRE(chain.world.credit_fault() == "");
}

TEST_CASE("with forwarding by the host, a busy host holds up its children", "[multicast]") {
  Chain chain(3, {.initial_window = 4, .maximum_window = 4}, {.forward_in_host = true});
  chain.send(0);
  REQUIRE(chain.world.settle());
  REQUIRE(chain.arrived(1) == 0);
  REQUIRE(chain.arrived(2) == 0);
  chain.services[1]->serve(*chain.groups[1]);
  REQUIRE(chain.arrived(1) == 1);
  REQUIRE(chain.world.settle());
  chain.services[2]->serve(*chain.groups[2]);
  REQUIRE(chain.arrived(2) == 1);
}

TEST_CASE("the loss of a member is reported to all members", "[multicast]") {
  Chain chain(4, {.initial_window = 4, .maximum_window = 4}, {});
  chain.send(0);
  REQUIRE(chain.world.run_until([&] { return chain.arrived(3) == 1; }));
  chain.world.fabric().kill(2);
  chain.send(1);
  REQUIRE(chain.world.run_until([&] {
    return chain.receivers[0]->losses == 1 && chain.receivers[1]->losses == 1 &&
           chain.receivers[3]->losses == 1;
  }));
}

TEST_CASE("a member out of reach is lost to all, and so is one that gives up", "[multicast]") {
  for (const bool gives_up : {false, true}) {
    Chain chain(3, {.initial_window = 4, .maximum_window = 4}, {});
    if (gives_up) {
      chain.services[0]->give_up(*chain.groups[0], Multicast::Reason::loss);
    } else {
      chain.services[0]->set_peer(*chain.groups[0], 2, kNoPeer);
    }
    CHECK(chain.receivers[0]->losses == 1);
    CHECK(chain.world.run_until([&] { return chain.receivers[1]->losses == 1; }));
    // Only the member that gives up sends notices, and not to a member out of reach.
    REQUIRE(chain.world.settle());
    CHECK(chain.receivers[2]->losses == (gives_up ? 1 : 0));
  }
}

TEST_CASE("a member that is dead before it is needed is lost", "[multicast]") {
  Chain chain(3, {.initial_window = 4, .maximum_window = 4}, {});
  chain.send(0);
  REQUIRE(chain.world.run_until([&] { return chain.arrived(2) == 1; }));
  const PeerId dead = chain.world.peer(1, 2);  // node 1 has forwarded to it
  chain.world.fabric().kill(2);
  chain.send(1);
  REQUIRE(chain.world.run_until([&] { return chain.receivers[1]->losses == 1; }));
  Recorder receiver;
  Multicast::Group* group = nullptr;
  const Membership members({{1, 0}, {1, 1}, {1, 2}}, {0, 1, 2});
  chain.services[1]->join(group, 10, members, 1, {chain.world.peer(1, 0), kNoPeer, kNoPeer},
                          receiver);
  CHECK(receiver.losses == 0);
  chain.services[1]->set_peer(*group, 2, dead);
  CHECK(receiver.losses == 1);
  chain.services[1]->leave(group);
}

TEST_CASE("packets of a message follow each other through the tree", "[multicast]") {
  for (const int packets : {64, 256}) {
    const auto [first, last] = through_chain(packets, {});
    INFO(packets << " packets: " << first << " ticks to depth 1, " << last << " to depth 6");
    CHECK(last - first <= 5 * 12);  // each hop once, with a delay of at most 4 and waits for room
    const auto [whole_first, whole_last] = through_chain(packets, {.forward_in_host = true});
    CHECK(whole_last / whole_first > 4);  // message by message
  }
}

TEST_CASE("a recovery ends when a child on the escape path is lost", "[multicast][recovery]") {
  Chain chain(5, {.initial_window = 1, .maximum_window = 1}, {.recovery = Suspicion::immediate});
  chain.shape = TreeShape::chain;
  chain.send(0);  // sets up the connections
  REQUIRE(chain.world.settle());
  for (std::uint64_t number = 1; number < 8; ++number) chain.send(number);
  chain.drive_all_but(4, 2000);
  // Node 4 takes no packets, so a packet on an escape buffer stays at node 3, and the escape buffers are not free.
  REQUIRE(!chain.services[0]->recovered());
  REQUIRE(!chain.services[1]->recovered());
  REQUIRE(chain.arrived(3) >= 3);
  chain.world.fabric().kill(2);
  chain.drive_all_but(4, 2000);
  REQUIRE(chain.services[0]->recovered());
  REQUIRE(chain.services[1]->recovered());
  REQUIRE(chain.unsent.load() == 0);
}

TEST_CASE("members that have survived a loss recover together", "[multicast][recovery]") {
  Chain chain(4, {.initial_window = 1, .maximum_window = 1}, {.recovery = Suspicion::immediate});
  chain.shape = TreeShape::chain;
  // Another group without 1.
  const std::vector<Node> nodes{0, 2, 3};
  const Membership members({{1, 0}, {1, 2}, {1, 3}}, {0, 2, 3});
  std::vector<Recorder> receivers(3);
  std::vector<Multicast::Group*> groups(3);
  for (std::uint32_t self = 0; self < 3; ++self) {
    std::vector<PeerId> peers(3, kNoPeer);
    for (std::uint32_t other = 0; other < 3; ++other)
      if (other != self) peers[other] = chain.world.peer(nodes[self], nodes[other]);
    chain.services[nodes[self]]->join(groups[self], 10, members, self, peers, receivers[self]);
  }
  std::uint64_t sent = 0;
  const auto send = [&] {
    MulticastHeader header;
    header.shape = TreeShape::chain;
    header.number = sent++;
    chain.services[0]->send(*groups[0], header, chain.bytes, chain.unsent);
  };
  chain.send(0);
  send();
  REQUIRE(chain.world.settle());
  for (std::uint64_t number = 1; number < 8; ++number) chain.send(number);
  chain.drive_all_but(3, 2000);  // a packet on 0's escape buffer has arrived at 2 and cannot go on
  REQUIRE(!chain.services[0]->recovered());
  chain.world.fabric().kill(1);
  chain.drive_all_but(3, 2000);
  REQUIRE(chain.services[0]->recovered());
  REQUIRE(!chain.services[2]->recovered());
  for (int more = 0; more < 8; ++more) send();
  chain.drive_all_but(3, 2000);
  CHECK(!chain.services[0]->recovered());  // the next one
  CHECK(chain.broken_peers(0) == 1);
  CHECK(chain.broken_peers(2) == 1);  // node 1, which is dead
  REQUIRE(chain.world.settle());
  for (std::uint32_t self = 1; self < 3; ++self) {
    CHECK(receivers[self].losses == 0);
    REQUIRE(receivers[self].numbers.size() == sent);
    for (std::uint64_t number = 0; number < sent; ++number)
      CHECK(receivers[self].numbers[number] == number);
  }
  for (const Node node : nodes) CHECK(chain.services[node]->recovered());
  for (std::uint32_t self = 0; self < 3; ++self) chain.services[nodes[self]]->leave(groups[self]);
}

TEST_CASE("packets on an escape path may come before their group, too", "[multicast][recovery]") {
  Chain chain(4, {.initial_window = 1, .maximum_window = 1}, {.recovery = Suspicion::immediate},
              false);
  chain.shape = TreeShape::chain;
  chain.join(1);
  for (std::uint64_t number = 0; number < 10; ++number) chain.send(number);
  REQUIRE(chain.world.settle());
  REQUIRE(chain.services[2]->stats().early == 10);
  REQUIRE(chain.world.ni(1).counters().get(Counter::recovery_packets) > 0);
  chain.join(2);
  chain.join(3);
  REQUIRE(chain.world.run_until([&] { return chain.arrived(3) == 10; }));
  REQUIRE(chain.world.settle());
  for (Node node = 1; node < 4; ++node) {
    for (std::uint64_t number = 0; number < 10; ++number)
      REQUIRE(chain.receivers[node]->numbers[number] == number);
    REQUIRE(chain.services[node]->recovered());
    REQUIRE(chain.services[node]->packets() == 0);
  }
  REQUIRE(chain.world.credit_fault() == "");
}

TEST_CASE("a packet larger than any that may be sent is refused", "[multicast][recovery]") {
  Chain chain(2, {.initial_window = 4, .maximum_window = 4}, {.recovery = Suspicion::timer});
  chain.send(0);
  REQUIRE(chain.world.run_until([&] { return chain.arrived(1) == 1; }));
  // The packet fits into a frame, but not together with the name of an escape path.
  MulticastHeader header;
  header.group = 9;
  const std::vector<std::byte> large(chain.services[0]->max_packet() + 1);
  const Slice slices[] = {{&header, sizeof header}, {large.data(), large.size()}};
  REQUIRE(chain.world.ni(0).services().try_send(chain.world.peer(0, 1), ServiceId::multicast,
                                                slices, 2));
  REQUIRE(chain.world.run_until([&] { return chain.receivers[1]->losses == 1; }));
  REQUIRE(chain.arrived(1) == 1);
}

TEST_CASE("packets that wait for credits end with their service", "[multicast]") {
  Chain chain(3, {.initial_window = 2, .maximum_window = 2}, {});
  chain.send(0);  // sets up the connections
  REQUIRE(chain.world.settle());
  for (std::uint64_t number = 1; number < 8; ++number) chain.send(number);
  chain.drive_all_but(2, 1000);  // so that 1 has no credit for it
  const Peer& last = chain.world.state(1, 2);
  REQUIRE(last.flow.credits().available() == 0);
  REQUIRE(last.waiting.size() > 0);
  chain.services[1]->leave(std::exchange(chain.groups[1], nullptr));
  chain.services[1].reset();
  CHECK(last.waiting.empty());
  // Its credits return. No freed packet is sent.
  REQUIRE(chain.world.settle());
  CHECK(last.flow.credits().available() == 2);
  CHECK(chain.arrived(2) < 8);
}

TEST_CASE("a packet of a tree that does not come from its parent ends the connection it came on",
          "[multicast]") {
  // The group has 0, 1 and 2. Node 3 is a peer but no member. Node 2 is a member, but not above 1.
  for (const Node liar : {2u, 3u}) {
    Chain chain(4, {.initial_window = 4, .maximum_window = 4}, {}, false);
    for (const Node node : {0u, 1u, 2u}) chain.join(node, 3);
    MulticastHeader header;
    header.group = 9;
    header.number = 77;
    PacketPort& packets = chain.world.ni(liar).services().packets();
    Packet packet = packets.make(ServiceId::multicast);
    packet.set_head(&header, sizeof header);
    packets.send(chain.world.peer(liar, 1), std::move(packet));
    REQUIRE(chain.world.settle());
    CHECK(chain.arrived(1) == 0);
    CHECK(chain.broken_peers(1) == 1);
    CHECK(chain.receivers[1]->losses == (liar == 2 ? 1 : 0));
  }
}

TEST_CASE("a packet that its receivers refuse ends the group and no connection", "[multicast]") {
  Chain chain(4, {.initial_window = 4, .maximum_window = 4}, {});
  chain.send(0);
  REQUIRE(chain.world.settle());
  for (auto& receiver : chain.receivers) receiver->refuses = true;
  chain.send(1);
  REQUIRE(chain.world.settle());
  for (Node node = 0; node < 4; ++node) {
    CHECK(chain.receivers[node]->losses == 1);
    CHECK(chain.broken_peers(node) == 0);
  }
  REQUIRE(chain.world.credit_fault() == "");
}

TEST_CASE("trees with one leader on each node", "[multicast]") {
  // Processes 0..8 on three nodes, assigned in turn: node i has i, i + 3, i + 6.
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> places;
  for (std::uint32_t rank = 0; rank < 9; ++rank) {
    names.push_back({1, rank});
    places.push_back(100 - rank % 3);
  }
  const Membership members(names, places);
  REQUIRE(members.nodes() == 3);
  for (std::uint32_t root = 0; root < 9; ++root) {
    for (std::uint32_t fan = 1; fan <= 3; ++fan) {
      std::vector<std::uint32_t> reached{root};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const std::uint32_t child :
             members.children({TreeShape::monotone, fan}, root, reached[i])) {
          REQUIRE(members.in_tree(root, child));
          REQUIRE(members.parent({TreeShape::monotone, fan}, root, child) == reached[i]);
          if (reached[i] != root) REQUIRE((child > reached[i]) == (reached[i] > root));
          reached.push_back(child);
        }
      }
      REQUIRE(reached.size() == 3);
    }
  }
}

}  // namespace lfc
