// NeonService over simulated links: NEON's frames between NIs, under credits, delays and losses. The target's host
// makes no progress. Also frames without a window.
#include <array>
#include <cstring>
#include <vector>

#include "catch.hpp"
#include "unit/services/neon/neon_service_world.hpp"

namespace lfc {

using namespace neon_world;

TEST_CASE("the NI alone fills an announced buffer and reports its origins", "[neon_service]") {
  Setting at(4);
  std::vector<std::vector<std::byte>> parts;
  const std::array<Node, 3> origins{0, 2, 3};
  for (const Node node : origins) parts.push_back(pattern(100, node));
  SECTION("announced before") { at.announce({0, 2, 3}); }
  for (std::size_t i = 0; i < origins.size(); ++i) at.put(origins[i], parts[i], 100 * i);
  at.settle();
  if (at.buffer.origins.empty()) {
    CHECK(at.buffer.ended.calls == 0);
    at.announce({0, 2, 3});  // early data leaves the memory where it was parked
    at.settle();
  }
  REQUIRE(at.buffer.ended.calls == 1);
  CHECK(at.buffer.ended.status == Status::ok);
  for (std::size_t i = 0; i < origins.size(); ++i) CHECK(at.holds(parts[i], 100 * i));
  for (const Put& each : at.puts) CHECK((each.ended.calls == 1 && each.ended.status == Status::ok));
  CHECK(at.world.credit_fault() == "");
}

TEST_CASE("a window of one credit carries any number of puts, each exactly once",
          "[neon_service]") {
  Setting at(2, {.seed = 9, .refuse_permille = 300}, {.initial_window = 1, .maximum_window = 1});
  for (unsigned round = 0; round < 50; ++round) {
    at.announce({0});
    std::vector<std::vector<std::byte>> parts;
    for (unsigned i = 0; i < 20; ++i) parts.push_back(pattern(100, round + i));
    for (std::size_t i = 0; i < parts.size(); ++i)
      at.put(0, parts[i], 100 * i, i + 1 == parts.size());
    REQUIRE(
        at.world.run_until([&] { return at.buffer.ended.calls == static_cast<int>(round) + 1; }));
    for (std::size_t i = 0; i < parts.size(); ++i) REQUIRE(at.holds(parts[i], 100 * i));
    at.settle();
    for (const Put& each : at.puts) REQUIRE(each.ended.calls == 1);
    at.puts.clear();
  }
}

TEST_CASE("a window of one credit carries notified puts to vectors, each exactly once",
          "[neon_service]") {
  Setting at(2, {.seed = 9, .refuse_permille = 300}, {.initial_window = 1, .maximum_window = 1});
  constexpr std::uint64_t kPuts = 20;
  std::array<neon::Slot, 1> slots;
  at.exposure = {at.buffer.bytes.data(), kBytes, slots.data(), 1};
  std::vector<neon::Run> runs;  // every other word, from the last one on
  for (std::size_t at_byte = kBytes; at_byte > 0; at_byte -= 16) runs.push_back({at_byte - 16, 8});
  for (unsigned i = 0; i < kPuts; ++i) {
    Put& put = at.make_put(pattern(runs.size() * 8, i));
    const Ni::Access access(at.world.ni(0));
    REQUIRE(at.windows[0]->neon().origin().put_notify(put, 1, 0, put.bytes.data(), put.bytes.size(),
                                                      runs, 0, false) == Status::ok);
  }
  REQUIRE(at.world.run_until([&] { return slots[0].value() == kPuts; }));
  at.settle();
  for (const Put& each : at.puts) CHECK((each.ended.calls == 1 && each.ended.status == Status::ok));
  CHECK(slots[0].value() == kPuts);
  const std::vector<std::byte>& last = at.puts.back().bytes;  // frames of a pair stay in order here
  std::vector<std::byte> wanted(kBytes);
  for (std::size_t i = 0; i < runs.size(); ++i)
    std::memcpy(wanted.data() + runs[i].within, last.data() + 8 * i, 8);
  CHECK(at.buffer.bytes == wanted);
}

TEST_CASE("a large put with a grant goes straight into the buffer", "[neon_service]") {
  Setting at(2, {.seed = 3, .remote_memory = true});
  at.announce({0});
  const auto first = pattern(kBytes, 1);
  at.put(0, first);  // requests a grant; goes in frames
  at.settle();
  REQUIRE(at.buffer.ended.calls == 1);
  CHECK(at.holds(first));
  at.announce({0});  // a grant from now on
  at.settle();
  const std::uint64_t frames = at.count(0, Counter::frames_sent);
  const auto second = pattern(kBytes, 2);
  SECTION("written by the link") {
    at.put(0, second);
    at.settle();
    CHECK(at.count(0, Counter::put_native_bytes) == kBytes);
  }
  SECTION("mapped here: copied") {
    {
      const Ni::Access access(at.world.ni(0));
      at.windows[0]->writes().map(1, reinterpret_cast<std::uint64_t>(at.buffer.bytes.data()),
                                  kBytes, at.buffer.bytes.data());
    }
    at.put(0, second);
    CHECK(at.holds(second));  // at once
    at.settle();
    CHECK(at.count(0, Counter::put_native_bytes) == 0);
  }
  CHECK(at.count(0, Counter::frames_sent) == frames + 1);  // the notification
  CHECK(at.buffer.ended.calls == 2);
  CHECK(at.holds(second));
}

TEST_CASE("a grant for memory outside the mapping is refused", "[neon_service]") {
  Setting at(2, {.seed = 3, .remote_memory = true});
  at.announce({0});
  at.put(0, pattern(kBytes, 1));
  at.settle();
  at.announce({0});
  at.settle();
  std::vector<std::byte> elsewhere(kBytes);
  {
    const Ni::Access access(at.world.ni(0));
    at.windows[0]->writes().map(1, reinterpret_cast<std::uint64_t>(at.buffer.bytes.data()) + 1,
                                kBytes, elsewhere.data());
  }
  const Put& put = at.put(0, pattern(kBytes, 2));
  at.settle();
  CHECK((put.ended.calls == 1 && put.ended.status == Status::range));
  CHECK(elsewhere == std::vector<std::byte>(kBytes));
}

TEST_CASE("a member that is lost ends what waits for it", "[neon_service]") {
  Setting at(3);
  const auto large = pattern(kBytes, 1);
  const Put& waiting = at.put(0, large);  // not announced, so it waits for a grant
  at.announce({0, 2});
  at.settle();
  REQUIRE(waiting.ended.calls == 1);
  const Put& next = at.put(0, large);
  at.world.fabric().cut(0, 1);
  at.settle();
  CHECK((next.ended.calls == 1 && next.ended.status == Status::unreachable));
  CHECK((at.windows[0]->has_lost() && at.windows[1]->has_lost()));
  CHECK_FALSE(at.windows[2]->has_lost());
  // The announcement had counted node 0; node 2 still counts.
  at.put(2, pattern(8, 3));
  at.settle();
  CHECK(at.buffer.ended.calls == 1);
}

TEST_CASE("a window that is freed with frames waiting takes them along", "[neon_service]") {
  Setting at(2, {.seed = 5}, {.initial_window = 1});
  const auto small = pattern(8, 1);
  at.put(0, small);  // opens the connection
  at.settle();
  for (int i = 0; i < 8; ++i) at.put(0, small);
  REQUIRE_FALSE(at.windows[0]->quiet());
  const int sent = at.windows[0]->traffic().sent[1];  // and one of them is not sent yet
  at.windows[0].reset();
  at.settle();
  CHECK(at.windows[1]->traffic().received == sent - 1);
}

TEST_CASE("a window that is freed with a write under way gets no completion of it",
          "[neon_service]") {
  Setting at(2, {.seed = 3, .remote_memory = true});
  at.announce({0});
  at.put(0, pattern(kBytes, 1));  // requests a grant
  at.settle();
  at.announce({0});
  at.settle();
  const auto data = pattern(kBytes, 2);
  const Put& write = at.put(0, data);
  at.windows[0].reset();
  at.settle();
  CHECK(write.ended.calls == 0);
  CHECK(at.holds(data));
}

TEST_CASE("a service of NEON counts for all its windows, also for those that are gone",
          "[neon_service]") {
  Setting at(2);
  const neon::Exposure exposure;
  const neon::Limits limits{.frame = 64, .eager = 128, .budget = 1024};
  auto other = std::make_unique<NeonWindow>(at.services[0], 0, limits, exposure, 1);
  const std::array<PeerId, 1> peers{kNoPeer};
  other->connect(peers, std::array{other->id()});
  for (int i = 0; i < 2; ++i) {  // to oneself, without an announcement
    Put& put = at.make_put(pattern(8, 1));
    const Ni::Access access(at.world.ni(0));
    REQUIRE(other->neon().origin().put(put, 0, kTag, 0, put.bytes.data(), 8, true, false) ==
            Status::ok);
  }
  at.put(0, pattern(8, 1));
  at.settle();
  neon::Statistics sum = at.services[0]->totals();
  CHECK(sum.frames == 3);
  CHECK(sum.early == 2);
  CHECK(sum.parked == 2 * (8 + neon::kOverhead));
  other.reset();
  sum = at.services[0]->totals();
  CHECK(sum.frames == 3);
  CHECK(sum.early == 2);
  CHECK(sum.parked == 0);
  CHECK(sum.parked_most == 2 * (8 + neon::kOverhead));
}

TEST_CASE("puts to oneself need no link", "[neon_service]") {
  Setting at(2);
  at.announce({1});
  const auto data = pattern(64, 5);
  at.put(1, data);
  at.settle();
  CHECK(at.buffer.ended.calls == 1);
  CHECK(at.holds(data));
  CHECK(at.count(1, Counter::frames_sent) == 0);
}

TEST_CASE("frames of a freed window are dropped, those of no window end the connection",
          "[neon_service]") {
  Setting at(3);
  const auto broke = [&](Node node) { return at.count(node, Counter::peers_broken) != 0; };
  const auto send = [&](Node from, std::uint32_t window) {
    neon::Header header{};
    header.kind = neon::Kind::data;
    header.window = window;
    const Slice slice{&header, sizeof header};
    const PeerId peer = at.world.peer(from, 1);
    const Ni::Access access(at.world.ni(from));
    return at.world.ni(from).services().try_send(peer, ServiceId::neon, &slice, 1);
  };
  const auto data = pattern(8, 1);
  at.put(0, data);  // opens the connections
  at.put(2, data);
  at.settle();
  const std::uint32_t old = at.windows[1]->id();
  at.windows[1].reset();
  REQUIRE(at.world.run_until([&] { return send(0, old); }));
  at.settle();
  CHECK_FALSE(broke(1));
  REQUIRE(at.world.run_until([&] { return send(2, old + 1); }));
  at.settle();
  CHECK(broke(1));
}

}  // namespace lfc
