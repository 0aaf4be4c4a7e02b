// Totally ordered broadcast: its state machines, and single cases beside the simulation (lfc_sim --ordered): a lost
// member and a hostile member.
#include "services/ordered/ordered_broadcast.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using Node = World::Node;

std::vector<std::byte> bytes_of(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

struct Members {
  // `called`: each host is called when messages can be delivered.
  explicit Members(Node count, OrderedBroadcast::Options options = {.window = 8, .packet = 64},
                   bool called = false)
      : world(count, {.seed = 5, .max_payload = 256, .stall_permille = 0},
              {.initial_window = 2, .maximum_window = 2}) {
    std::vector<ProcessName> names;
    for (Node node = 0; node < count; ++node) names.push_back({1, node});
    for (Node node = 0; node < count; ++node) {
      services.push_back(std::make_unique<Multicast>(world.ni(node).services(),
                                                     Multicast::Options{}, ServiceId::ordered));
      all.push_back(std::make_unique<OrderedBroadcast>(*services[node], options));
      inboxes.push_back({this, node});
      if (called) {
        calls.push_back(std::make_unique<HostCall>(
            world.ni(node).services(),
            [](void* context) {
              const Inbox& own = *static_cast<Inbox*>(context);
              own.members->deliver(own.node);
            },
            &inboxes.back(), HostCall::By::host));
        all.back()->set_call(*calls.back());
      }
      std::vector<PeerId> peers;
      for (Node other = 0; other < count; ++other)
        peers.push_back(other == node ? kNoPeer : world.peer(node, other));
      all[node]->join(9, names, node, peers);
    }
    seen.resize(count);
  }
  ~Members() {
    for (auto& call : calls) call->end();
    for (auto& each : all) each->leave();
  }
  void deliver(Node node) {
    while (all[node]->deliver(
        [&](std::uint32_t member, std::uint64_t number, std::span<const std::byte> bytes) {
          seen[node].push_back({member, number, bytes.size()});
        })) {
    }
  }
  bool run(Node node, std::span<const std::byte> bytes) {
    all[node]->start(bytes);
    return world.run_until([&] {
      for (Node each = 0; each < all.size(); ++each) deliver(each);
      return !all[node]->busy();
    });
  }
  template <class Condition>
  bool run_until(Condition condition) {
    return world.run_until([&] {
      for (Node each = 0; each < all.size(); ++each) deliver(each);
      return condition();
    });
  }

  struct Seen {
    std::uint32_t member;
    std::uint64_t number;
    std::size_t size;
    bool operator==(const Seen&) const = default;
  };
  struct Inbox {
    Members* members;
    Node node;
  };
  World world;
  std::deque<Inbox> inboxes;
  std::vector<std::unique_ptr<HostCall>> calls;
  std::vector<std::unique_ptr<Multicast>> services;
  std::vector<std::unique_ptr<OrderedBroadcast>> all;
  std::vector<std::vector<Seen>> seen;
};

}  // namespace

TEST_CASE("the host is called once for many requests, anew after each call, and not after the end",
          "[ordered]") {
  World world(1, {}, {});
  struct Caller {
    Ni& ni;
    HostCall* call = nullptr;
    int calls = 0;
  } counter{world.ni(0)};
  HostCall call(
      counter.ni.services(),
      [](void* context) {
        auto& own = *static_cast<Caller*>(context);
        ++own.calls;
        own.ni.progress();  // nested
        if (own.calls == 2) {
          const Ni::Access access(own.ni);
          own.call->request();
        }
      },
      &counter, HostCall::By::host);
  counter.call = &call;
  const auto ask = [&](int times) {
    const Ni::Access access(counter.ni);
    while (times-- > 0) call.request();
  };
  counter.ni.progress();
  REQUIRE(counter.calls == 0);
  ask(3);
  counter.ni.progress();
  counter.ni.progress();
  REQUIRE(counter.calls == 1);
  ask(1);
  counter.ni.progress();
  counter.ni.progress();
  REQUIRE(counter.calls == 3);
  ask(1);
  call.end();
  counter.ni.progress();
  REQUIRE(counter.calls == 3);
}

TEST_CASE(
    "a member whose host only drives its network interface takes messages and delays no member",
    "[ordered]") {
  constexpr int kMessages = 30;  // more than the window of 8
  Members members(3, {.window = 8, .packet = 64}, true);
  for (int i = 0; i < kMessages; ++i) {
    const std::vector<std::byte> bytes = bytes_of(10, i);
    members.all[1]->start(bytes);
    REQUIRE(members.world.run_until([&] { return !members.all[1]->busy(); }));
  }
  REQUIRE(members.world.run_until([&] {
    return std::all_of(members.seen.begin(), members.seen.end(),
                       [](const auto& seen) { return seen.size() == kMessages; });
  }));
}

TEST_CASE("numbers are handed out within a window of the slowest member", "[ordered]") {
  Sequencer sequencer(2, 8);
  REQUIRE(!sequencer.request(0, 0));
  REQUIRE(!sequencer.request(0, 5));  // more than half a window
  REQUIRE(sequencer.request(0, 4));
  REQUIRE(!sequencer.request(0, 1));  // one at a time
  REQUIRE(sequencer.request(1, 4));
  REQUIRE(sequencer.next()->first == 0);
  REQUIRE(sequencer.next()->first == 4);
  REQUIRE(sequencer.request(0, 2));
  REQUIRE(sequencer.request(1, 1));
  REQUIRE(!sequencer.next());
  REQUIRE(!sequencer.progress(0, 9));  // not sent yet
  REQUIRE(sequencer.progress(0, 8));
  REQUIRE(!sequencer.next());  // member 1 has taken none
  REQUIRE(sequencer.progress(1, 2));
  REQUIRE(!sequencer.progress(1, 1));  // backwards
  const auto ticket = sequencer.next();
  REQUIRE(ticket->member == 0);
  REQUIRE(ticket->first == 8);
  REQUIRE(!sequencer.next());  // requests keep their order, though one more would not fit anyway
  REQUIRE(sequencer.slowest() == 2);
}

TEST_CASE("packets are held back until it is their turn", "[ordered]") {
  HoldBack held(4, 8);
  HoldBack::Message message;
  const auto full = bytes_of(8, 1);
  const auto part = bytes_of(3, 2);
  REQUIRE(held.place(1, 5, 1, full));
  REQUIRE(held.place(2, 5, 0, part));
  REQUIRE(held.front(message) == HoldBack::State::missing);
  REQUIRE(!held.place(1, 5, 1, full));            // twice
  REQUIRE(!held.place(4, 5, 0, full));            // outside the window
  REQUIRE(!held.place(3, 5, 0, bytes_of(9, 1)));  // too large
  REQUIRE(!held.place(3, 5, 1, part));            // not the last, and not full
  REQUIRE(!held.place(3, 5, std::uint64_t{1} << 32, full));
  REQUIRE(held.place(0, 6, 0, {}));
  REQUIRE(held.front(message) == HoldBack::State::ready);
  REQUIRE(message.origin == 6);
  REQUIRE(message.bytes.empty());
  held.take(message);
  REQUIRE(held.front(message) == HoldBack::State::ready);
  REQUIRE(message.first == 1);
  REQUIRE(message.bytes.size() == 11);
  held.take(message);
  REQUIRE(!held.place(1, 5, 0, part));  // its turn is over
  // This message spans the end of the ring.
  REQUIRE(held.place(3, 7, 2, full));
  REQUIRE(held.place(5, 7, 0, part));
  REQUIRE(held.front(message) == HoldBack::State::missing);
  REQUIRE(held.place(4, 7, 1, bytes_of(8, 9)));
  REQUIRE(held.front(message) == HoldBack::State::ready);
  REQUIRE(message.bytes.size() == 19);
  REQUIRE(message.bytes[8] == std::byte{9});
  REQUIRE(message.bytes[18] == std::byte{2});
  held.take(message);
  // Packets of two messages under the number of one.
  REQUIRE(held.place(6, 7, 1, full));
  REQUIRE(held.place(7, 8, 0, full));
  REQUIRE(held.front(message) == HoldBack::State::wrong);
}

TEST_CASE("all take the same messages in the same order", "[ordered]") {
  Members members(4, {.window = 8, .packet = 64, .sequencer = 2});
  REQUIRE(members.all[0]->max_message() == 256);
  const auto small = bytes_of(10, 1);
  const auto large = bytes_of(256, 2);
  for (int round = 0; round < 20; ++round)
    for (Node node = 0; node < 4; ++node)
      REQUIRE(members.run(node, (round + static_cast<int>(node)) % 3 == 0 ? large : small));
  REQUIRE(members.run_until([&] {
    for (const auto& seen : members.seen)
      if (seen.size() != 80) return false;
    return true;
  }));
  for (Node node = 1; node < 4; ++node) REQUIRE(members.seen[node] == members.seen[0]);
  REQUIRE(members.world.settle());
  REQUIRE(members.world.credit_fault() == "");
}

TEST_CASE("a member that does not take its messages holds up all, within the window", "[ordered]") {
  Members members(3);
  const auto bytes = bytes_of(64, 1);
  int sent = 0;
  for (; sent < 100; ++sent) {
    members.all[0]->start(bytes);
    const bool went = members.world.run_until(
        [&] {
          members.deliver(0);
          members.deliver(1);
          return !members.all[0]->busy();
        },
        3000);
    if (!went) break;
  }
  REQUIRE(sent == 8);  // member 2 has room for a window
  REQUIRE(members.run_until([&] { return !members.all[0]->busy(); }));
  REQUIRE(members.run_until([&] { return members.seen[2].size() == 9; }));
}

TEST_CASE("a number that a lost member leaves unused ends the order with an error", "[ordered]") {
  Members members(4, {.window = 8, .packet = 64, .sequencer = 3});
  const auto bytes = bytes_of(64, 1);
  REQUIRE(members.run(0, bytes));
  REQUIRE(members.run(1, bytes));
  // Member 1 has got a number, and fails before it can send.
  members.all[1]->start(bytes);
  REQUIRE(members.run_until([&] { return members.all[3]->handed_out() == 3; }));
  members.world.fabric().kill(1);
  members.all[2]->start(bytes);
  REQUIRE(members.world.run_until([&] {
    for (const Node node : {0u, 2u, 3u}) members.deliver(node);
    return members.all[0]->fault() == OrderFault::lost &&
           members.all[2]->fault() == OrderFault::lost &&
           members.all[3]->fault() == OrderFault::lost;
  }));
  members.all[2]->give_up();
  REQUIRE(members.world.run_until([&] { return !members.all[2]->busy(); }));
  // Messages before the gap have been delivered. The order of each member is a beginning of the same order.
  for (const Node node : {0u, 2u, 3u}) {
    REQUIRE(members.seen[node].size() >= 2);
    for (std::size_t i = 0; i < members.seen[node].size() && i < members.seen[0].size(); ++i)
      REQUIRE(members.seen[node][i] == members.seen[0][i]);
  }
}

TEST_CASE("a member that sends forged numbers ends the order for all, and no connection",
          "[ordered]") {
  Members members(3);
  const auto bytes = bytes_of(8, 1);
  REQUIRE(members.run(0, bytes));
  // Member 2 sends under a number that it was not given.
  struct Liar final : Multicast::Receiver {
    Reception take(const MulticastHeader&, std::span<const std::byte>) override {
      return Reception::taken;
    }
    void keep(Multicast::Packet&) override {}
    void lost(Multicast::Reason) override {}
  } liar;
  members.all[2]->leave();
  Multicast::Group* group = nullptr;
  const Membership names({{1, 0}, {1, 1}, {1, 2}}, {0, 1, 2});
  members.services[2]->join(group, 9, names, 2,
                            {members.world.peer(2, 0), members.world.peer(2, 1), kNoPeer}, liar);
  std::atomic<std::uint32_t> unsent = 0;
  MulticastHeader header;
  header.number = 100;
  {
    const Ni::Access access(members.world.ni(2));
    members.services[2]->send(*group, header, bytes, unsent);
  }
  REQUIRE(members.world.run_until([&] {
    return members.all[0]->fault() == OrderFault::protocol &&
           members.all[1]->fault() != OrderFault::none;
  }));
  REQUIRE(members.world.ni(0).counters().get(Counter::peers_broken) == 0);
  REQUIRE(members.world.ni(1).counters().get(Counter::peers_broken) == 0);
  members.services[2]->leave(group);
  members.all.pop_back();
}

}  // namespace lfc
