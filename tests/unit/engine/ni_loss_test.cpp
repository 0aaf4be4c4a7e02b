// Ni: how peers are lost, by their end, by damage and by protocol violations; over the simulated fabric.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ring_memory.hpp"
#include "unit/engine/ni_world.hpp"

namespace lfc {

TEST_CASE("removing a peer completes what waits, once", "[ni]") {
  Lab lab(3, quick(), window_of(1));
  lab.warm(0, 1);
  lab.warm(0, 2);
  for (int i = 0; i < 5; ++i) lab.post(0, 1, std::to_string(i));
  lab.world.ni(0).remove_peer(lab.world.peer(0, 1));
  REQUIRE(lab.results[0] == static_cast<int>(Result::ok));  // it had the credit
  for (std::size_t i = 1; i < 5; ++i)
    REQUIRE(lab.results[i] == static_cast<int>(Result::unreachable));
  REQUIRE(lab.lost.empty());  // the host itself removed it
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

TEST_CASE("a peer that is removed and added again has another id and the same name", "[ni]") {
  Lab lab(2, quick(), window_of(1));
  lab.warm(0, 1);
  Ni& ni = lab.world.ni(0);
  const PeerId before = lab.world.peer(0, 1);
  const Address address = *Address::parse(lab.world.ni(1).address());
  std::string why_not;
  REQUIRE(ni.add_peer(address, why_not) == before);
  ni.remove_peer(before);
  REQUIRE(ni.peers().find(address.identity().name) == kNoPeer);
  const PeerId after = ni.add_peer(address, why_not);
  REQUIRE(after != before);
  REQUIRE(after != kNoPeer);
  REQUIRE(ni.peers().find(address.identity().name) == after);
  REQUIRE(ni.peers().at(before).is_lost());
  REQUIRE_FALSE(ni.peers().at(after).is_lost());
}

TEST_CASE("a process that sends to a peer that has closed detects the loss", "[ni]") {
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

TEST_CASE("a reported failure loses a peer that no link watches, once", "[ni]") {
  Lab lab(3, quick(), window_of(1));
  lab.warm(0, 1);
  const PeerId connected = lab.world.peer(0, 1), known = lab.world.peer(0, 2);
  Ni& ni = lab.world.ni(0);
  const auto report = [&](ProcessName name) {
    const Ni::Access access(ni);
    ni.services().report_failure(name, "killed");
  };
  for (const World::Node node : {1u, 2u, 2u}) report(lab.world.ni(node).identity().name);
  report({77, 7});  // not a peer
  lab.settle();
  CHECK_FALSE(ni.peers().at(connected).is_lost());  // its link delivers its last frames
  CHECK(ni.peers().at(known).is_lost());
  CHECK(lab.lost.size() == 1);
}

TEST_CASE("a loss is reported before the messages that fail by it", "[ni]") {
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

TEST_CASE("a peer that is lost completes everything with unreachable, and is reported once",
          "[ni]") {
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
  Flight put;
  Flight get;
  Flight atomic;
  std::uint64_t old = 0;
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().put(peer, here.data(), nullptr, region.address, region, 4096, &put);
  }
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().get(peer, here.data(), nullptr, region.address, region, 4096, &get);
  }
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, region.address, region, &old, &atomic);
  }
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

  Flight later;
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().put(peer, here.data(), nullptr, region.address, region, 8, &later);
    REQUIRE(later.calls == 0);
  }
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

TEST_CASE("a link that is cut is detected at both ends", "[ni]") {
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
  CHECK(sink.on_ring(peer, reader, 16) == 2);
  CHECK(lab.received[0][5].text == std::string(kInlinePayload + 1, 'x'));
  CHECK(lab.received[0].back().text == std::string(kInlinePayload, 'y'));
  // It takes no frames of an unknown peer.
  send({FrameType::message, 7, 0}, "from nobody");
  CHECK(sink.on_ring(peer + 1, reader, 16) == 0);
  CHECK(lab.received[0].size() == 7);
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

}  // namespace lfc
