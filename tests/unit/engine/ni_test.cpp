// Ni: its guarantees, over the simulated fabric. Large random runs are in tests/sim.
#include "engine/ni.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ring_memory.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using Node = World::Node;

// A World whose hosts note what they get.
class Lab {
 public:
  struct Received {
    Node from;
    std::uint8_t tag;
    std::string text;
    bool operator==(const Received&) const = default;
  };
  struct Lost {
    Node node;
    Node peer;
  };

  Lab(Node nodes, const SimOptions& options, const Config& config)
      : world(nodes, options, config), received(nodes) {
    for (Node node = 0; node < nodes; ++node) {
      contexts_.push_back({this, node});
    }
    for (Node node = 0; node < nodes; ++node) {
      world.ni(node).set_message_handler(handler_of<&Lab::deliver>(&contexts_[node]));
      world.ni(node).set_broken_handler(&Lab::broken, &contexts_[node]);
    }
  }

  // Posts a copy of `text`; results[id] is written when it is done.
  int post(Node from, Node to, const std::string& text, std::uint8_t tag = 1) {
    const int id = static_cast<int>(results.size());
    results.push_back(-1);
    auto& item = *items_.emplace_back(std::make_unique<Item>());
    item.lab = this;
    item.id = id;
    item.text = text;
    item.tag = tag;
    item.slices[0] = {item.text.data(), item.text.size() / 2};
    item.slices[1] = {item.text.data() + item.text.size() / 2,
                      item.text.size() - item.text.size() / 2};
    item.slice_count = 2;
    item.done = [](Message* self, Result result) {
      auto& done = static_cast<Item&>(*self);
      REQUIRE(done.lab->results[static_cast<std::size_t>(done.id)] == -1);  // once
      done.lab->results[static_cast<std::size_t>(done.id)] = static_cast<int>(result);
      done.text.assign(done.text.size(), '#');  // ours again
      if (done.lab->on_done) done.lab->on_done(done.id);
    };
    world.ni(from).post(world.peer(from, to), item);
    return id;
  }
  bool try_send(Node from, Node to, const std::string& text, std::uint8_t tag = 1) {
    const Slice slice{text.data(), text.size()};
    return world.ni(from).try_send(world.peer(from, to), tag, &slice, 1);
  }
  bool all_done(Result expected = Result::ok) const {
    return std::all_of(results.begin(), results.end(),
                       [=](int result) { return result == static_cast<int>(expected); });
  }
  // Connects the pair, in both directions, so that later sends need no handshake.
  void warm(Node a, Node b) {
    post(a, b, "");
    post(b, a, "");
    REQUIRE(world.settle());
    received[a].clear();
    received[b].clear();
    results.clear();
  }
  void settle() {
    if (!world.settle()) FAIL("the world does not settle\n" << world.describe());
  }

  World world;
  std::vector<std::vector<Received>> received;  // by node
  std::vector<int> results;                     // of posts: -1 pending
  std::vector<Lost> lost;
  std::function<void(Node, const Delivery&)> on_deliver;
  std::function<void(int)> on_done;

 private:
  struct Context {
    Lab* lab;
    Node node;
  };
  struct Item : Message {
    Lab* lab = nullptr;
    int id = 0;
    std::string text;
  };
  static void deliver(void* context, const Delivery& delivery) {
    const Context& at = *static_cast<Context*>(context);
    at.lab->received[at.node].push_back(
        {at.lab->world.node_of(at.node, delivery.peer), delivery.tag,
         std::string(reinterpret_cast<const char*>(delivery.bytes.data()), delivery.bytes.size())});
    if (at.lab->on_deliver) at.lab->on_deliver(at.node, delivery);
  }
  static void broken(void* context, PeerId peer, std::string_view) {
    const Context& at = *static_cast<Context*>(context);
    at.lab->lost.push_back({at.node, at.lab->world.node_of(at.node, peer)});
  }

  std::vector<Context> contexts_;
  std::vector<std::unique_ptr<Item>> items_;
};

// One remote operation and how it ended.
struct Probe : Operation {
  Probe() {
    done = [](Operation* self, Result ended) {
      auto& probe = static_cast<Probe&>(*self);
      ++probe.calls;
      probe.result = ended;
      if (probe.then) probe.then();
    };
  }
  bool ended(Result expected) const { return calls == 1 && result == expected; }
  int calls = 0;
  Result result = Result::not_supported;
  std::function<void()> then;
};

constexpr std::uint32_t kAll = kRemoteRead | kRemoteWrite | kRemoteAtomic;

SimOptions quick(std::uint64_t seed = 1) {
  SimOptions options;
  options.seed = seed;
  options.max_payload = 128;
  return options;
}

Config window_of(std::uint32_t window, HostQueue::Mode mode = HostQueue::Mode::direct) {
  Config config;
  config.initial_window = window;
  config.maximum_window = window;
  config.delivery = mode;
  return config;
}

std::string pattern(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

}  // namespace

TEST_CASE("ni: who was met by his hello has told his key to nobody; it comes with his address",
          "[ni]") {
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

TEST_CASE("messages are FIFO and exactly once, whatever the window", "[ni]") {
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

TEST_CASE("try_send before a connection says no and opens none", "[ni]") {
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
  // Node 1 never polls; 0 and 2 finish their business.
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
    lab.world.ni(1).turn().pass();  // the host sleeps, its NI does not
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
  SimOptions options = quick();
  options.stall_permille = 0;
  options.refuse_permille = 0;
  Lab lab(2, options, window_of(window));
  constexpr std::uint64_t kMessages = 400;
  SECTION("one way") {
    for (std::uint64_t i = 0; i < kMessages; ++i) lab.post(0, 1, "m");
    lab.settle();
    const std::uint64_t sent = lab.world.ni(1).counters().get(Counter::explicit_credits);
    const std::uint64_t expected = kMessages / std::max(1u, window / 2);
    REQUIRE(sent >= expected - 1);
    REQUIRE(sent <= expected + 1);
    REQUIRE(lab.world.ni(0).counters().get(Counter::explicit_credits) == 0);
  }
  SECTION("ping-pong") {
    if (window < 4) return;  // half a window is one buffer: each is returned at once
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
    for (Node node : {0u, 1u})  // one for the last message, which no frame answered
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
  const bool streams = GENERATE(false, true);  // what the target sends carries credits, too
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
  std::vector<Probe> adds(2000);
  std::vector<std::uint64_t> olds(adds.size());
  for (std::size_t i = 0; i < adds.size(); ++i)
    lab.world.ni(0).remote().atomic(target, {AtomicOp::add, 8, 1}, region.address, region, &olds[i],
                                    &adds[i]);
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

// --- Losing peers ---

TEST_CASE("removing a peer completes what waits, once", "[ni]") {
  Lab lab(3, quick(), window_of(1));
  lab.warm(0, 1);
  lab.warm(0, 2);
  for (int i = 0; i < 5; ++i) lab.post(0, 1, std::to_string(i));
  lab.world.ni(0).remove_peer(lab.world.peer(0, 1));
  REQUIRE(lab.results[0] == static_cast<int>(Result::ok));  // it had the credit
  for (std::size_t i = 1; i < 5; ++i)
    REQUIRE(lab.results[i] == static_cast<int>(Result::unreachable));
  REQUIRE(lab.lost.empty());  // it was the host's wish
  lab.results.clear();
  lab.post(0, 1, "too late");
  REQUIRE(lab.results[0] == static_cast<int>(Result::unreachable));
  REQUIRE_FALSE(lab.try_send(0, 1, "too late"));
  lab.results.clear();
  lab.post(0, 2, "to another");
  lab.settle();
  REQUIRE(lab.all_done());
  REQUIRE(lab.received[1] == std::vector<Lab::Received>{{0, 1, "0"}});
  REQUIRE(lab.received[2] == std::vector<Lab::Received>{{0, 1, "to another"}});
}

TEST_CASE("a peer that closed is noticed by whoever still sends to it", "[ni]") {
  Lab lab(2, quick(), window_of(4));
  lab.warm(0, 1);
  lab.world.ni(1).remove_peer(lab.world.peer(1, 0));
  lab.settle();
  REQUIRE(lab.lost.empty());  // closing is no error ...
  lab.post(0, 1, "hello?");
  lab.settle();
  REQUIRE(lab.all_done(Result::unreachable));  // ... but the message cannot arrive
  REQUIRE(lab.lost.size() == 1);
}

TEST_CASE("a loss is told before the messages that fail by it", "[ni]") {
  Lab lab(2, quick(), window_of(1));
  lab.warm(0, 1);
  int failed = 0;
  int unexplained = 0;
  lab.on_done = [&](int id) {
    if (lab.results[static_cast<std::size_t>(id)] == static_cast<int>(Result::ok)) return;
    ++failed;
    if (lab.lost.empty()) ++unexplained;
  };
  for (int i = 0; i < 5; ++i) lab.post(0, 1, "m");
  lab.world.fabric().kill(1);
  for (int i = 0; i < 3000; ++i) {
    lab.world.fabric().advance();
    lab.world.ni(0).progress();
  }
  REQUIRE(failed == 4);  // one had the credit
  REQUIRE(unexplained == 0);
}

TEST_CASE("a dead peer completes everything with unreachable, and is told once", "[ni]") {
  const bool native = GENERATE(false, true);
  SimOptions options = quick(3);
  options.remote_memory = native;
  Lab lab(3, options, window_of(2));
  std::vector<std::byte> there(4096);
  std::vector<std::byte> here(4096);
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(there.data(), there.size(), kAll, region));
  lab.warm(0, 1);
  lab.warm(0, 2);
  Ni& ni = lab.world.ni(0);
  const PeerId peer = lab.world.peer(0, 1);
  for (int i = 0; i < 20; ++i) lab.post(0, 1, "m");
  Probe put;
  Probe get;
  Probe atomic;
  std::uint64_t old = 0;
  ni.remote().put(peer, here.data(), nullptr, region.address, region, 4096, &put);
  ni.remote().get(peer, here.data(), nullptr, region.address, region, 4096, &get);
  ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, region.address, region, &old, &atomic);
  REQUIRE(ni.remote().outstanding(peer) == 3);
  lab.world.fabric().kill(1);
  for (int i = 0; i < 3000; ++i) {
    lab.world.fabric().advance();
    ni.progress();
    lab.world.ni(2).progress();
  }
  for (std::size_t i = 2; i < 20; ++i)  // two had credits
    REQUIRE(lab.results[i] == static_cast<int>(Result::unreachable));
  REQUIRE(put.ended(Result::unreachable));
  REQUIRE(get.ended(Result::unreachable));
  REQUIRE(atomic.ended(Result::unreachable));
  REQUIRE(ni.remote().outstanding(peer) == 0);
  REQUIRE(lab.lost.size() == 1);
  REQUIRE(lab.lost[0].node == 0);
  REQUIRE(lab.lost[0].peer == 1);
  REQUIRE(ni.counters().get(Counter::peers_broken) == 1);

  Probe later;
  ni.remote().put(peer, here.data(), nullptr, region.address, region, 8, &later);
  REQUIRE(later.ended(Result::unreachable));
  lab.results.clear();
  lab.post(0, 1, "to the dead");
  REQUIRE(lab.all_done(Result::unreachable));
  lab.results.clear();
  lab.post(0, 2, "to the living");
  for (int i = 0; i < 3000; ++i) {
    lab.world.fabric().advance();
    ni.progress();
    lab.world.ni(2).progress();
  }
  REQUIRE(lab.all_done());
  REQUIRE(lab.lost.size() == 1);
}

TEST_CASE("a cut cable is noticed at both ends", "[ni]") {
  Lab lab(2, quick(5), window_of(2));
  lab.warm(0, 1);
  lab.world.fabric().cut(0, 1);
  for (int i = 0; i < 10; ++i) {
    lab.post(0, 1, "m");
    lab.post(1, 0, "m");
  }
  lab.settle();
  REQUIRE(lab.lost.size() == 2);
  REQUIRE(std::count(lab.results.begin(), lab.results.end(), -1) == 0);
}

TEST_CASE("from a ring short messages are taken, and anything else is left in it", "[ni]") {
  Lab lab(2, {.seed = 1}, {});
  const PeerId peer = lab.world.peer(0, 1);
  FrameSink& sink = lab.world.ni(0).sink();
  const RingShape shape;
  const RingMemory memory(shape);
  RingWriter writer(memory.get(), shape);
  RingReader reader(memory.get(), shape);
  const auto send = [&](Meta meta, const std::string& text) {
    const Slice slice{text.data(), text.size()};
    REQUIRE(writer.send(meta, &slice, 1) == SendStatus::sent);
  };
  const auto left = [&] {
    RingFrame frame;
    REQUIRE(reader.peek(frame) == RingReader::Peek::frame);
    reader.pop();
    return frame;
  };
  CHECK(sink.on_ring(peer, reader, 16) == 0);
  for (const char* text : {"one", "two", "three", ""}) send({FrameType::message, 7, 0}, text);
  const std::uint32_t before = lab.world.state(0, 1).flow.credits().available();
  send({FrameType::message, 8, 2}, "with credits");
  send({FrameType::credit, 0, 0}, "12345678");
  send({FrameType::message, 9, 0}, std::string(kInlinePayload + 1, 'x'));
  send({FrameType::message, 9, 0}, std::string(kInlinePayload, 'y'));
  CHECK(sink.on_ring(peer, reader, 2) == 2);
  CHECK(sink.on_ring(peer, reader, 16) == 3);
  CHECK(lab.received[0] ==
        std::vector<Lab::Received>{
            {1, 7, "one"}, {1, 7, "two"}, {1, 7, "three"}, {1, 7, ""}, {1, 8, "with credits"}});
  CHECK(lab.world.state(0, 1).flow.credits().available() == before + 2);
  CHECK(sink.on_ring(peer, reader, 16) == 0);
  CHECK(left().meta().type == FrameType::credit);
  CHECK(sink.on_ring(peer, reader, 16) == 0);
  CHECK(left().payload.size() == kInlinePayload + 1);
  CHECK(sink.on_ring(peer, reader, 16) == 1);
  CHECK(lab.received[0].back().text == std::string(kInlinePayload, 'y'));
  // Of a peer that nobody knows it takes nothing.
  send({FrameType::message, 7, 0}, "from nobody");
  CHECK(sink.on_ring(peer + 1, reader, 16) == 0);
  CHECK(lab.received[0].size() == 6);
}

TEST_CASE("lost, doubled and damaged frames break a peer but nothing else", "[ni]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    SimOptions options = quick(seed);
    options.lose_permille = seed % 3 == 0 ? 20 : 0;
    options.duplicate_permille = seed % 3 == 1 ? 100 : 0;
    options.corrupt_permille = seed % 3 == 2 ? 20 : 0;
    Lab lab(3, options, window_of(4));
    for (int i = 0; i < 100; ++i)
      for (Node from : {0u, 1u, 2u}) lab.post(from, (from + 1) % 3, std::to_string(i));
    lab.settle();
    for (Node to : {0u, 1u, 2u}) {
      const auto& got = lab.received[to];
      REQUIRE(got.size() <= 100);
      if (options.corrupt_permille == 0)  // payload is not covered by the header's check
        for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(got[i].text == std::to_string(i));
      if (options.duplicate_permille != 0) {
        REQUIRE(got.size() == 100);
        REQUIRE(lab.world.ni(to).counters().get(Counter::frames_dropped) > 0);
      }
    }
  }
}

// --- Remote memory ---

TEST_CASE("put and get move the right bytes, of any size", "[ni]") {
  const bool native = GENERATE(false, true);
  const std::uint32_t window = GENERATE(1u, 2u, 8u);
  SimOptions options = quick(window);
  options.remote_memory = native;
  Lab lab(2, options, window_of(window));
  const std::size_t large = window * options.max_payload * 5 + 13;  // many windows full
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{95}, std::size_t{96},
        std::size_t{97}, std::size_t{104}, std::size_t{105}, std::size_t{1000}, large}) {
    INFO("size " << size << " native " << native << " window " << window);
    std::string there = pattern(size + 64, 1);
    const std::string untouched = there;
    RegionHandle region;
    REQUIRE(lab.world.ni(1).remote().register_memory(there.data(), there.size(), kAll, region));
    const std::string out = pattern(size, size + 2);
    Probe put;
    lab.world.ni(0).remote().put(lab.world.peer(0, 1), out.data(), nullptr, region.address + 32,
                                 region, size, &put);
    REQUIRE(lab.world.run_until([&] { return put.calls > 0; }));
    REQUIRE(put.ended(Result::ok));
    REQUIRE(there.substr(32, size) == out);
    REQUIRE(there.substr(0, 32) == untouched.substr(0, 32));
    REQUIRE(there.substr(32 + size) == untouched.substr(32 + size));

    std::string back(size + 2, '?');
    Probe get;
    lab.world.ni(0).remote().get(lab.world.peer(0, 1), back.data() + 1, nullptr,
                                 region.address + 32, region, size, &get);
    REQUIRE(lab.world.run_until([&] { return get.calls > 0; }));
    REQUIRE(get.ended(Result::ok));
    REQUIRE(back == "?" + out + "?");
    lab.settle();
    REQUIRE(put.calls == 1);
    REQUIRE(get.calls == 1);
    REQUIRE(lab.world.ni(0).remote().outstanding(lab.world.peer(0, 1)) == 0);
    lab.world.ni(1).remote().deregister_memory(region);
  }
  const Counters& counters = lab.world.ni(0).counters();
  REQUIRE((counters.get(Counter::put_native_bytes) > 0) == native);
  REQUIRE((counters.get(Counter::put_frames_bytes) > 0) == !native);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("gets in both directions at once do not wait for each other", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 2u, 4u);
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  Lab lab(2, quick(seed), window_of(window));
  std::vector<std::string> memory{pattern(3000, 1), pattern(3000, 2)};
  std::vector<RegionHandle> regions(2);
  for (Node node : {0u, 1u})
    REQUIRE(lab.world.ni(node).remote().register_memory(memory[node].data(), 3000, kAll,
                                                        regions[node]));
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<std::string> buffers(40, std::string(3000, '?'));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Node node = i % 2;
    auto& probe = *probes.emplace_back(std::make_unique<Probe>());
    lab.world.ni(node).remote().get(lab.world.peer(node, 1 - node), buffers[i].data(), nullptr,
                                    regions[1 - node].address, regions[1 - node], 3000, &probe);
    lab.post(node, 1 - node, "between");
  }
  lab.settle();
  INFO(lab.world.describe());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(probes[i]->ended(Result::ok));
    REQUIRE(buffers[i] == memory[1 - i % 2]);
  }
  REQUIRE(lab.all_done());
  REQUIRE(lab.received[0].size() == 20);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("atomics of both widths change the target's memory", "[ni]") {
  Lab lab(4, quick(), window_of(2));
  struct Words {
    std::int64_t wide = 10;
    std::int32_t narrow = -5;
    std::int32_t neighbour = 77;
  } words;
  RegionHandle region;
  REQUIRE(lab.world.ni(0).remote().register_memory(&words, sizeof words, kAll, region));
  const auto apply = [&](AtomicRequest request, std::size_t offset) {
    std::uint64_t old = 0xeeeeeeeeeeeeeeeeu;
    Probe probe;
    lab.world.ni(1).remote().atomic(lab.world.peer(1, 0), request, region.address + offset, region,
                                    &old, &probe);
    REQUIRE(lab.world.run_until([&] { return probe.calls > 0; }));
    REQUIRE(probe.ended(Result::ok));
    return old;
  };
  REQUIRE(apply({AtomicOp::add, 8, 5}, 0) == 10);
  REQUIRE(words.wide == 15);
  REQUIRE(apply({AtomicOp::compare_swap, 8, 99, 15}, 0) == 15);
  REQUIRE(words.wide == 99);
  REQUIRE(apply({AtomicOp::min, 4, 3}, 8) == (0xeeeeeeee00000000u | 0xfffffffbu));
  REQUIRE(words.narrow == -5);
  REQUIRE(apply({AtomicOp::max, 4, 3}, 8) == (0xeeeeeeee00000000u | 0xfffffffbu));
  REQUIRE(words.narrow == 3);
  REQUIRE(words.neighbour == 77);

  // Increments of all are none lost and none doubled; a null result is allowed.
  words.wide = 0;
  std::vector<std::unique_ptr<Probe>> probes;
  for (int i = 0; i < 50; ++i)
    for (Node node : {1u, 2u, 3u})
      lab.world.ni(node).remote().atomic(lab.world.peer(node, 0), {AtomicOp::add, 8, 1},
                                         region.address, region, nullptr,
                                         probes.emplace_back(std::make_unique<Probe>()).get());
  lab.settle();
  for (const auto& probe : probes) REQUIRE(probe->ended(Result::ok));
  REQUIRE(words.wide == 150);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("accesses outside what was granted end with bad_address", "[ni]") {
  const bool native = GENERATE(false, true);
  SimOptions options = quick();
  options.remote_memory = native;
  Lab lab(2, options, window_of(2));
  std::string memory(1000, 'x');
  std::string buffer(4000, 'y');
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), memory.size(), kAll, region));
  Ni& ni = lab.world.ni(0);
  const PeerId peer = lab.world.peer(0, 1);
  const auto put = [&](const RegionHandle& handle, std::uint64_t address, std::size_t size) {
    Probe probe;
    ni.remote().put(peer, buffer.data(), nullptr, address, handle, size, &probe);
    REQUIRE(lab.world.run_until([&] { return probe.calls > 0; }));
    REQUIRE(probe.calls == 1);
    return probe.result;
  };
  const auto get = [&](const RegionHandle& handle, std::uint64_t address, std::size_t size) {
    Probe probe;
    ni.remote().get(peer, buffer.data(), nullptr, address, handle, size, &probe);
    REQUIRE(lab.world.run_until([&] { return probe.calls > 0; }));
    REQUIRE(probe.calls == 1);
    return probe.result;
  };
  const std::uint64_t base = region.address;
  REQUIRE(put(region, base + 1, 1000) == Result::bad_address);
  REQUIRE(get(region, base - 1, 10) == Result::bad_address);
  REQUIRE(put(region, base + 1000, 1) == Result::bad_address);
  REQUIRE(get(region, base, ~std::size_t{0}) == Result::bad_address);

  // The origin's own check can be lied to; the target's cannot.
  RegionHandle lie = region;
  lie.size = 4000;
  REQUIRE(put(lie, base, 2000) == Result::bad_address);
  REQUIRE(get(lie, base, 2000) == Result::bad_address);
  REQUIRE(put(lie, base + 1000, 8) == Result::bad_address);

  if (!native) {
    RegionHandle stale = region;
    stale.generation += 2;
    REQUIRE(put(stale, base, 8) == Result::bad_address);
    stale = region;
    stale.id += 100;
    REQUIRE(get(stale, base, 8) == Result::bad_address);
    RegionHandle read_only;
    REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), 1000, kRemoteRead, read_only));
    REQUIRE(put(read_only, base, 8) == Result::bad_address);
    REQUIRE(get(read_only, base, 8) == Result::ok);
    Probe atomic;
    ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, (base + 7) & ~7ull, read_only, nullptr,
                       &atomic);
    REQUIRE(lab.world.run_until([&] { return atomic.calls > 0; }));
    REQUIRE(atomic.ended(Result::bad_address));
  }
  Probe crooked;
  ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, ((base + 7) & ~7ull) + 4, region, nullptr,
                     &crooked);
  REQUIRE(lab.world.run_until([&] { return crooked.calls > 0; }));
  REQUIRE(crooked.ended(Result::bad_address));
  Probe wide;
  ni.remote().atomic(peer, {AtomicOp::add, 16, 1}, (base + 15) & ~15ull, region, nullptr, &wide);
  REQUIRE(lab.world.run_until([&] { return wide.calls > 0; }));
  REQUIRE(wide.ended(Result::bad_address));

  lab.world.ni(1).remote().deregister_memory(region);
  REQUIRE(put(region, base, 8) == Result::bad_address);
  lab.settle();
  REQUIRE(lab.lost.empty());  // a bad address is an answer, not an offence
  if (!native) REQUIRE(lab.world.credit_fault() == "");
  lab.results.clear();
  lab.post(0, 1, "still friends");
  lab.settle();
  REQUIRE(lab.all_done());
}

TEST_CASE("operations may be started from inside done", "[ni]") {
  Lab lab(2, quick(), window_of(1));
  std::string memory(500, 'x');
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), memory.size(), kAll, region));
  const std::string out = pattern(500, 9);
  std::string back(500, '?');
  Probe put;
  Probe get;
  put.then = [&] {
    lab.world.ni(0).remote().get(lab.world.peer(0, 1), back.data(), nullptr, region.address, region,
                                 500, &get);
  };
  get.then = [&] { lab.post(0, 1, "done"); };
  lab.world.ni(0).remote().put(lab.world.peer(0, 1), out.data(), nullptr, region.address, region,
                               500, &put);
  lab.settle();
  REQUIRE(put.ended(Result::ok));
  REQUIRE(get.ended(Result::ok));
  REQUIRE(back == out);
  REQUIRE(lab.received[1] == std::vector<Lab::Received>{{0, 1, "done"}});
}

// --- Peers and addresses ---

TEST_CASE("a peer is one peer, whoever speaks first", "[ni]") {
  Lab lab(2, quick(), window_of(2));
  lab.post(0, 1, "a");
  lab.post(1, 0, "b");
  lab.settle();
  REQUIRE(lab.world.ni(0).peers().size() == 1);
  REQUIRE(lab.world.ni(1).peers().size() == 1);
  REQUIRE(lab.world.ni(0).link_traits(lab.world.peer(0, 1)).name == "sim");
}

TEST_CASE("without a link in common the reasons are told", "[ni]") {
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
