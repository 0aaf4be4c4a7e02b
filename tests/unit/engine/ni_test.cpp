// Ni: its guarantees for messages and peers, over the simulated fabric. tests/sim has large random runs.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "unit/engine/ni_world.hpp"

namespace lfc {

TEST_CASE("ni: a peer known by its hello has no key until its address is added", "[ni]") {
  Lab lab(2, {}, {});
  lab.post(1, 0, "hello");
  REQUIRE(lab.world.run_until([&] { return !lab.received[0].empty(); }));
  const Ni& ni = lab.world.ni(0);
  const Address said = ni.peers().at(0).address;
  CHECK_FALSE(said.has_key());
  const FrameSink& sink = lab.world.ni(0).sink();
  CHECK(sink.published(said) == nullptr);
  REQUIRE(lab.world.peer(0, 1) == 0);
  REQUIRE(sink.published(said) != nullptr);
  CHECK(sink.published(said)->identity().key == lab.world.ni(1).identity().key);
}

TEST_CASE("ni: the address of an engine has the largest payload that the engine takes", "[ni]") {
  Lab lab(1, quick(), window_of(1));
  const Ni& ni = lab.world.ni(0);
  CHECK(max_payload_of(*Address::parse(ni.address())) == ni.peers().max_payload());
  CHECK(max_payload_of(*Address::parse(AddressWriter({{1, 5}, 1, 8}).finish())) == 0);
}

TEST_CASE("messages arrive in order and exactly once with windows of any size", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 2u, 8u);
  const auto mode = GENERATE(HostQueue::Mode::direct, HostQueue::Mode::queued);
  const Node nodes = GENERATE(2u, 3u, 8u);
  Lab lab(nodes, quick(window * 10 + nodes), window_of(window, mode));
  constexpr int kEach = 40;
  std::map<std::pair<Node, Node>, std::vector<std::string>> expected;
  Random random(nodes);
  for (int i = 0; i < kEach; ++i)
    for (Node from = 0; from < nodes; ++from)
      for (Node to = 0; to < nodes; ++to) {
        if (from == to) continue;
        const std::string text = std::to_string(i) + pattern(random.below(100), i);
        lab.post(from, to, text);
        expected[{from, to}].push_back(text);
      }
  lab.settle();
  REQUIRE(lab.all_done());
  for (Node to = 0; to < nodes; ++to) {
    std::map<Node, std::vector<std::string>> got;
    for (const auto& message : lab.received[to]) got[message.from].push_back(message.text);
    for (Node from = 0; from < nodes; ++from)
      if (from != to) REQUIRE(got[from] == expected[{from, to}]);
  }
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("try_send never overtakes what was posted", "[ni]") {
  Lab lab(2, quick(), window_of(2));
  lab.warm(0, 1);
  REQUIRE(lab.try_send(0, 1, "a"));
  REQUIRE(lab.try_send(0, 1, "b"));
  REQUIRE_FALSE(lab.try_send(0, 1, "no credit"));
  lab.post(0, 1, "c");
  REQUIRE_FALSE(lab.try_send(0, 1, "older messages wait"));
  lab.settle();
  while (!lab.try_send(0, 1, "d")) lab.world.step();
  lab.settle();
  const std::vector<Lab::Received> expected{{0, 1, "a"}, {0, 1, "b"}, {0, 1, "c"}, {0, 1, "d"}};
  REQUIRE(lab.received[1] == expected);
}

TEST_CASE("try_send without a connection fails and opens none", "[ni]") {
  Lab lab(2, quick(), window_of(4));
  for (int i = 0; i < 100; ++i) {
    REQUIRE_FALSE(lab.try_send(0, 1, "x"));
    lab.world.step();
  }
  REQUIRE(lab.world.fabric().totals().frames == 0);
}

TEST_CASE("peers that do not talk cost nothing", "[ni]") {
  Lab lab(8, quick(), window_of(4));
  for (Node a = 0; a < 8; ++a)
    for (Node b = 0; b < 8; ++b)
      if (a != b) lab.world.peer(a, b);
  for (Node a = 0; a < 8; ++a) lab.post(a, (a + 1) % 8, "to the next in the ring");
  lab.settle();
  for (Node a = 0; a < 8; ++a) {
    REQUIRE(lab.world.ni(a).counters().get(Counter::connections) == 2);
    REQUIRE(lab.world.ni(a).peers().budget().granted() == 8);
  }
}

TEST_CASE("a blocked destination does not block another", "[ni]") {
  Lab lab(3, quick(), window_of(1));
  lab.warm(0, 1);
  lab.warm(0, 2);
  for (int i = 0; i < 10; ++i) lab.post(0, 1, "to the sleeper");
  const int first = static_cast<int>(lab.results.size());
  for (int i = 0; i < 10; ++i) lab.post(0, 2, "to the waking");
  // Node 1 never polls. Nodes 0 and 2 complete their messages.
  for (int i = 0; i < 20000; ++i) {
    lab.world.fabric().advance();
    lab.world.ni(0).progress();
    lab.world.ni(2).progress();
  }
  REQUIRE(lab.received[2].size() == 10);
  for (int i = 0; i < 10; ++i) REQUIRE(lab.results[static_cast<std::size_t>(first + i)] == 0);
  REQUIRE(lab.world.state(0, 1).waiting.size() == 9);
  REQUIRE(lab.world.ni(0).counters().get(Counter::credit_stalls) > 0);
  lab.settle();
  REQUIRE(lab.received[1].size() == 10);
  REQUIRE(lab.all_done());
}

TEST_CASE("a host that does not take its messages is sent no more than its window", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 4u);
  Lab lab(2, quick(), window_of(window, HostQueue::Mode::queued));
  for (int i = 0; i < 50; ++i) lab.post(0, 1, "m");
  for (int i = 0; i < 20000; ++i) {
    lab.world.fabric().advance();
    lab.world.ni(0).progress();
    lab.world.ni(1).turn().pass();  // the host sleeps, its NI runs
    REQUIRE(lab.world.state(1, 0).flow.window().held() <= window);
  }
  REQUIRE(lab.received[1].empty());
  REQUIRE(lab.world.state(1, 0).flow.window().held() == window);
  REQUIRE(lab.world.credit_fault(0, 1, window) == "");
  lab.settle();
  REQUIRE(lab.received[1].size() == 50);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("credit frames: one per half window one way, hardly any both ways", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 4u, 8u, 9u);
  const std::uint32_t due = OwedCredits::refresh(window);
  SimOptions options = quick();
  options.stall_permille = 0;
  options.refuse_permille = 0;
  Lab lab(2, options, window_of(window));
  constexpr std::uint64_t kMessages = 400;
  SECTION("one way") {
    for (std::uint64_t i = 0; i < kMessages; ++i) lab.post(0, 1, "m");
    lab.settle();
    const std::uint64_t sent = lab.world.ni(1).counters().get(Counter::explicit_credits);
    const std::uint64_t expected = kMessages / due;
    REQUIRE(sent >= expected - 1);
    REQUIRE(sent <= expected + 1);
    REQUIRE(lab.world.ni(0).counters().get(Counter::explicit_credits) == 0);
  }
  SECTION("ping-pong") {
    if (due == 1) return;  // each is returned at once
    std::uint64_t left = kMessages;
    lab.on_deliver = [&](Node node, const Delivery&) {
      if (left > 0) {
        --left;
        lab.post(node, 1 - node, "m");
      }
    };
    lab.post(0, 1, "m");
    lab.settle();
    REQUIRE(left == 0);
    for (Node node : {0u, 1u})  // one for the last message, which got no reply
      REQUIRE(lab.world.ni(node).counters().get(Counter::explicit_credits) <= 1);
  }
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("windows grow with traffic, under the cap", "[ni]") {
  Config config = window_of(2);
  config.maximum_window = 16;
  config.window_cap = 20;
  Lab lab(4, quick(), config);
  for (int i = 0; i < 200; ++i)
    for (Node from : {1u, 2u, 3u}) lab.post(from, 0, "m");
  lab.settle();
  std::uint64_t sum = 0;
  for (Node from : {1u, 2u, 3u}) {
    const std::uint32_t window = lab.world.state(0, from).flow.window().window();
    REQUIRE(window >= 2);
    REQUIRE(window <= 16);
    sum += window;
  }
  REQUIRE(sum == 20);
  REQUIRE(lab.world.ni(0).peers().budget().granted() == 20);
  REQUIRE(lab.world.ni(0).counters().get(Counter::window_growths) > 0);
  REQUIRE(lab.received[0].size() == 600);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("handlers may send from inside deliver and from inside done", "[ni]") {
  const auto mode = GENERATE(HostQueue::Mode::direct, HostQueue::Mode::queued);
  const std::uint32_t window = GENERATE(1u, 4u);
  Lab lab(3, quick(window), window_of(window, mode));
  int echoes = 0;
  int chained = 0;
  lab.on_deliver = [&](Node node, const Delivery& delivery) {
    REQUIRE(lab.world.ni(node).turn().pass() >= 0);  // nested: allowed, harmless
    if (delivery.tag != 1 || echoes >= 200) return;
    ++echoes;
    const Node from = lab.world.node_of(node, delivery.peer);
    if (!lab.try_send(node, from, "echo", 2)) lab.post(node, from, "echo", 2);
    lab.post(node, (node + 1) % 3 == from ? (node + 2) % 3 : (node + 1) % 3, "onward", 1);
  };
  lab.on_done = [&](int) {
    if (chained < 50) {
      ++chained;
      lab.post(0, 1, "chain", 3);
    }
  };
  lab.post(0, 1, "start", 1);
  lab.settle();
  REQUIRE(lab.all_done());
  REQUIRE(echoes == 200);
  REQUIRE(chained == 50);
  std::map<std::uint8_t, int> by_tag;
  for (const auto& at : lab.received)
    for (const auto& message : at) ++by_tag[message.tag];
  REQUIRE(by_tag[1] == 201);
  REQUIRE(by_tag[2] == 200);
  REQUIRE(by_tag[3] == 50);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("answers that wait for room are no more than the window", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 4u, 16u);
  const bool streams = GENERATE(false, true);  // the target's own frames carry credits as well
  SimOptions options = quick();
  options.capacity = 8;
  options.control_reserve = 2;
  options.minimum_delay = options.maximum_delay = 1;
  options.stall_permille = options.refuse_permille = 0;
  Lab lab(2, options, window_of(window));
  lab.warm(0, 1);
  alignas(8) std::uint64_t word = 0;
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(&word, sizeof word, kAll, region));
  const PeerId target = lab.world.peer(0, 1);
  const PeerId origin = lab.world.peer(1, 0);
  std::vector<Flight> adds(2000);
  std::vector<std::uint64_t> olds(adds.size());
  for (std::size_t i = 0; i < adds.size(); ++i) {
    const ServicePort::Visit visit(lab.world.ni(0).services());
    lab.world.ni(0).remote().atomic(target, {AtomicOp::add, 8, 1}, region.address, region, &olds[i],
                                    &adds[i]);
  }
  std::size_t most = 0;
  for (int tick = 0; tick < 100000 && adds.back().calls == 0; ++tick) {
    lab.world.fabric().advance();
    while (streams && lab.try_send(1, 0, "beside")) continue;
    lab.world.ni(1).progress();
    lab.world.ni(0).progress();
    most = std::max(most, lab.world.ni(1).peers().at(origin).control.size());
  }
  lab.settle();
  CHECK(most <= window);
  CHECK(word == adds.size());
  CHECK(olds.back() == adds.size() - 1);
  CHECK(lab.world.credit_fault() == "");
}

// --- Peers and addresses ---

TEST_CASE("two engines that send to each other at once have one peer each", "[ni]") {
  Lab lab(2, quick(), window_of(2));
  lab.post(0, 1, "a");
  lab.post(1, 0, "b");
  lab.settle();
  REQUIRE(lab.world.ni(0).peers().size() == 1);
  REQUIRE(lab.world.ni(1).peers().size() == 1);
  REQUIRE(lab.world.ni(0).link_traits(lab.world.peer(0, 1)).name == "sim");
}

TEST_CASE("without a link in common the reasons are reported", "[ni]") {
  World world(1, quick(), window_of(1));
  AddressWriter writer({{2, 5}, 77, 4});
  std::string why_not;
  const std::vector<std::byte> blob = std::move(writer).finish();
  REQUIRE(world.ni(0).add_peer(*Address::parse(blob), why_not) == kNoPeer);
  REQUIRE(why_not.find("sim: ") != std::string::npos);
}

TEST_CASE("a peer that stopped reading is described, not waited for", "[ni]") {
  Lab lab(2, quick(), window_of(1));
  lab.warm(0, 1);
  for (int i = 0; i < 3; ++i) lab.post(0, 1, "m");
  const std::string text = lab.world.describe();
  REQUIRE(text.find("waiting=2") != std::string::npos);
  REQUIRE(text.find("credits=0") != std::string::npos);
  REQUIRE_FALSE(lab.world.ni(0).drained());
  lab.settle();
  REQUIRE(lab.world.ni(0).drained());
}

}  // namespace lfc
