// Services: their frames, and the credit law for the buffers that they keep.
#include "engine/service.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using Node = World::Node;
using Verdict = Service::Verdict;

// A packet that was sent, and how it ended.
struct Item {
  int calls = 0;
  Result ended = Result::not_supported;
};

// Keeps frames that arrive; the test releases them. The note of a packet is the number of its item.
class Recorder : public Service {
 public:
  Recorder(Ni& ni, std::deque<Item>& items) : ni_(ni), items_(items) {}
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> bytes) override {
    frames.push_back({peer, type, {bytes.begin(), bytes.end()}});
    if (type != FrameType::service) return Verdict::release;
    if (keep) held.push_back(peer);
    return verdict;
  }
  void on_left(PeerId, std::uint64_t note, Result result) override {
    CHECK(!sending);
    ++items_[note - 1].calls;
    items_[note - 1].ended = result;
  }
  void on_lost(PeerId peer) override {
    CHECK(!sending);
    lost.push_back(peer);
  }
  bool work() override { return ++worked < 3; }
  void release_all() {
    const Ni::Access access(ni_);
    for (; !held.empty(); held.pop_front()) ni_.services().release(held.front());
  }
  void ack_all(std::uint64_t value) {
    const Ni::Access access(ni_);
    for (; !held.empty(); held.pop_front())
      ni_.services().ack(held.front(), ServiceId::test, &value, sizeof value);
  }

  struct Frame {
    PeerId peer;
    FrameType type;
    std::vector<std::byte> bytes;
  };
  Verdict verdict = Verdict::release;
  bool keep = false;
  std::vector<Frame> frames;
  std::deque<PeerId> held;
  std::vector<PeerId> lost;
  bool sending = false;  // inside a call of ServicePort
  int worked = 0;

 private:
  Ni& ni_;
  std::deque<Item>& items_;
};

struct Setting {
  explicit Setting(const Config& config = {}) : world(2, {.seed = 1}, config) {
    for (Node node = 0; node < 2; ++node) {
      services.push_back(std::make_unique<Recorder>(world.ni(node), items));
      world.ni(node).services().attach(ServiceId::test, services.back().get());
    }
  }
  Item& post(Node from, Node to, FrameType type, const void* bytes, std::size_t size) {
    Item& item = items.emplace_back();
    const PeerId peer = world.peer(from, to);
    const Ni::Access access(world.ni(from));
    PacketPort& packets = world.ni(from).services().packets();
    Packet packet = packets.make(ServiceId::test, 0, type);
    packet.lend({bytes, size});
    if (packets.send(peer, std::move(packet), items.size())) item = {1, Result::ok};
    return item;
  }

  World world;
  std::vector<std::unique_ptr<Recorder>> services;
  std::deque<Item> items;
};

TEST_CASE("a service frame reaches the service, once, and its buffer is free again") {
  Setting at;
  const std::uint64_t value = 42;
  for (int i = 0; i < 100; ++i) at.post(0, 1, FrameType::service, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 100);
  REQUIRE(std::memcmp(at.services[1]->frames[99].bytes.data(), &value, sizeof value) == 0);
  for (const auto& item : at.items) REQUIRE((item.calls == 1 && item.ended == Result::ok));
  REQUIRE(at.world.credit_fault() == "");
}

TEST_CASE("the window bounds the frames that a service holds, and a reply returns the credit") {
  Setting at({.initial_window = 4, .maximum_window = 4});
  Recorder& target = *at.services[1];
  target.verdict = Verdict::hold;
  target.keep = true;
  const std::uint64_t value = 7;
  for (int i = 0; i < 10; ++i) at.post(0, 1, FrameType::service, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(target.frames.size() == 4);
  target.ack_all(99);
  REQUIRE(at.world.settle());
  REQUIRE(target.frames.size() == 8);
  REQUIRE(at.services[0]->frames.size() == 4);
  REQUIRE(at.services[0]->frames[0].type == FrameType::service_ack);
  target.release_all();
  REQUIRE(at.world.settle());
  target.release_all();
  REQUIRE(at.world.settle());
  REQUIRE(target.frames.size() == 10);
  REQUIRE(at.world.credit_fault() == "");
}

TEST_CASE("requested bytes need no credit") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.services[1]->verdict = Verdict::hold;
  at.services[1]->keep = true;
  const std::uint64_t value = 1;
  at.post(0, 1, FrameType::service, &value, sizeof value);  // occupies the only buffer
  at.post(0, 1, FrameType::service, &value, sizeof value);  // waits
  for (int i = 0; i < 20; ++i) at.post(0, 1, FrameType::service_data, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 21);
  at.services[1]->release_all();
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 22);
}

TEST_CASE("frames for a service that has ended here are dropped, and keep no credit") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.world.ni(1).services().attach(ServiceId::test, nullptr);
  const std::uint64_t value = 1;
  for (int i = 0; i < 5; ++i) at.post(0, 1, FrameType::service, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(at.world.ni(1).counters().get(Counter::frames_dropped) == 5);
  REQUIRE(at.world.ni(1).counters().get(Counter::peers_broken) == 0);
  REQUIRE(at.world.credit_fault() == "");
}

TEST_CASE("malformed frames end the connection") {
  const std::uint64_t value = 1;
  SECTION("a service rejects them") {
    Setting at;
    at.services[1]->verdict = Verdict::malformed;
    at.post(0, 1, FrameType::service, &value, sizeof value);
    REQUIRE(at.world.settle());
    REQUIRE(at.world.ni(1).counters().get(Counter::peers_broken) == 1);
    REQUIRE(at.services[1]->lost.size() == 1);
  }
}

TEST_CASE("a lost peer completes what was posted to it") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.services[1]->verdict = Verdict::hold;
  const std::uint64_t value = 1;
  at.post(0, 1, FrameType::service, &value, sizeof value);
  const auto& waiting = at.post(0, 1, FrameType::service, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(waiting.calls == 0);
  at.world.ni(0).remove_peer(at.world.peer(0, 1));
  REQUIRE(at.world.settle());
  REQUIRE((waiting.calls == 1 && waiting.ended == Result::unreachable));
  REQUIRE(at.services[0]->lost.size() == 1);
}

TEST_CASE("packets that wait are dropped by their note, and all of a service with it") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.services[1]->verdict = Verdict::hold;
  at.services[1]->keep = true;
  const std::array<std::uint64_t, 4> values{0, 1, 2, 3};
  for (const std::uint64_t& value : values) at.post(0, 1, FrameType::service, &value, sizeof value);
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 1);
  const PeerId peer = at.world.peer(0, 1);
  {
    const Ni::Access access(at.world.ni(0));
    PacketPort& packets = at.world.ni(0).services().packets();
    CHECK(packets.waits(peer, ServiceId::test, 3));
    packets.drop(peer, ServiceId::test, 3);
    CHECK_FALSE(packets.waits(peer, ServiceId::test, 3));
  }
  at.services[1]->release_all();
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 2);
  at.services[1]->release_all();
  REQUIRE(at.world.settle());
  REQUIRE(at.services[1]->frames.size() == 3);  // the fourth, and not the third
  CHECK(std::memcmp(at.services[1]->frames[2].bytes.data(), &values[3], sizeof values[3]) == 0);
  CHECK((at.items[1].calls == 1 && at.items[2].calls == 0 && at.items[3].calls == 1));
  at.post(0, 1, FrameType::service, values.data(), sizeof values[0]);
  at.world.ni(0).services().attach(ServiceId::test, nullptr);
  at.services[1]->release_all();
  REQUIRE(at.world.settle());
  CHECK(at.services[1]->frames.size() == 3);
  CHECK(at.items[4].calls == 0);
}

TEST_CASE("packets share a body, which is free when the last one has left") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.services[1]->verdict = Verdict::hold;
  at.services[1]->keep = true;
  Ni& ni = at.world.ni(0);
  const std::vector<std::byte> data(5000, std::byte{7});
  const PeerId peer = at.world.peer(0, 1);
  {
    const Ni::Access access(ni);
    const SharedBytes body = ni.services().packets().bytes().copy(data);
    for (std::uint32_t number = 0; number < 3; ++number) {
      Packet packet = ni.services().packets().make(ServiceId::test);
      packet.set_head(&number, sizeof number);
      packet.share(body);
      ni.services().packets().send(peer, std::move(packet));
    }
    CHECK(ni.services().packets().bytes().spare_bytes() == 0);
  }
  for (std::size_t arrived = 1; arrived <= 3; ++arrived) {
    REQUIRE(at.world.settle());
    REQUIRE(at.services[1]->frames.size() == arrived);
    const std::vector<std::byte>& bytes = at.services[1]->frames.back().bytes;
    REQUIRE(bytes.size() == sizeof(std::uint32_t) + data.size());
    CHECK(std::equal(data.begin(), data.end(), bytes.begin() + sizeof(std::uint32_t)));
    at.services[1]->release_all();
  }
  const Ni::Access access(ni);
  CHECK(ni.services().packets().bytes().spare_bytes() == ni.services().packets().bytes().memory());
}

TEST_CASE("a loss that is found inside a service's own send is reported in the next pass") {
  Setting at;
  const std::uint64_t value = 1;
  at.world.fabric().cut(0, 1);
  Recorder& sender = *at.services[0];
  sender.sending = true;
  const auto& item = at.post(0, 1, FrameType::service, &value, sizeof value);
  sender.sending = false;
  {
    const Ni::Access access(at.world.ni(0));
    REQUIRE(at.world.ni(0).services().is_lost(at.world.peer(0, 1)));
  }
  REQUIRE(item.calls == 0);
  REQUIRE(sender.lost.empty());
  at.world.ni(0).progress();
  REQUIRE((item.calls == 1 && item.ended == Result::unreachable));
  REQUIRE(sender.lost.size() == 1);
}

// Sends one packet to each of two lost peers; the loss of the second is found while the first one's is handled.
struct Chain final : Service {
  explicit Chain(World& world) : world_(world), second_(world.peer(0, 2)) {}
  Verdict on_frame(PeerId, FrameType, std::span<const std::byte>) override {
    return Verdict::release;
  }
  void on_left(PeerId, std::uint64_t note, Result result) override {
    CHECK(result == Result::unreachable);
    events.push_back("packet " + std::to_string(note));
    if (note == 1 && in_on_left) send(2);
  }
  void on_lost(PeerId peer) override {
    events.push_back("peer " + std::to_string(peer == second_ ? 2 : 1));
    if (peer != second_ && !in_on_left) send(2);
  }
  void send(std::uint64_t note) {
    ServicePort& port = world_.ni(0).services();
    port.packets().send(second_, port.packets().make(ServiceId::test, 8), note);
  }
  bool in_on_left = false;
  std::vector<std::string> events;

 private:
  World& world_;
  const PeerId second_;
};

TEST_CASE("packets that end by a loss are reported before it, also if a service finds it") {
  World world(3, {.seed = 1}, {});
  Ni& ni = world.ni(0);
  const PeerId first = world.peer(0, 1);
  Chain chain(world);
  chain.in_on_left = GENERATE(false, true);
  ni.services().attach(ServiceId::test, &chain);
  world.fabric().cut(0, 1);
  world.fabric().cut(0, 2);
  {
    const Ni::Access access(ni);
    PacketPort& packets = ni.services().packets();
    packets.send(first, packets.make(ServiceId::test, 8), 1);
  }
  for (int i = 0; i < 5; ++i) ni.progress();
  CHECK(chain.events == std::vector<std::string>{"packet 1", "peer 1", "packet 2", "peer 2"});
  ni.services().attach(ServiceId::test, nullptr);
}

void count_message(void* count, const Delivery&) { ++*static_cast<int*>(count); }

TEST_CASE("a copy of a message that waits stays when a service of the same number ends") {
  Setting at({.initial_window = 1, .maximum_window = 1});
  at.services[1]->verdict = Verdict::hold;
  at.services[1]->keep = true;
  const std::uint64_t value = 1;
  at.post(0, 1, FrameType::service, &value, sizeof value);  // takes the only credit
  REQUIRE(at.world.settle());
  const auto tag = static_cast<std::uint8_t>(ServiceId::test);
  int came = 0;
  at.world.ni(1).set_message_handler(handler_of<count_message>(&came));
  {
    const Ni::Access access(at.world.ni(0));
    PacketPort& packets = at.world.ni(0).services().packets();
    Packet packet = packets.make_message(tag);
    packet.set_head(&value, sizeof value);
    packets.send(at.world.peer(0, 1), std::move(packet));
  }
  at.world.ni(0).services().attach(ServiceId::test, nullptr);
  at.services[1]->release_all();
  REQUIRE(at.world.settle());
  CHECK(came == 1);
}

TEST_CASE("work() is called once after a wake, and again while it requests that") {
  Setting at;
  for (int i = 0; i < 5; ++i) at.world.ni(0).progress();
  REQUIRE(at.services[0]->worked == 0);
  {
    const Ni::Access access(at.world.ni(0));
    at.world.ni(0).services().wake(ServiceId::test);
  }
  for (int i = 0; i < 9; ++i) at.world.ni(0).progress();
  REQUIRE(at.services[0]->worked == 3);
}

}  // namespace
}  // namespace lfc
