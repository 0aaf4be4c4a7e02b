// Services: their frames, and the credit law for the buffers that they keep.
#include "engine/service.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using Node = World::Node;
using Verdict = Service::Verdict;

// Keeps frames that arrive; the test releases them.
class Recorder : public Service {
 public:
  explicit Recorder(Ni& ni) : ni_(ni) {}
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> bytes) override {
    frames.push_back({peer, type, {bytes.begin(), bytes.end()}});
    if (type != FrameType::service) return Verdict::release;
    if (keep) held.push_back(peer);
    return verdict;
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
};

struct Setting {
  explicit Setting(const Config& config = {}) : world(2, {.seed = 1}, config) {
    for (Node node = 0; node < 2; ++node) {
      services.push_back(std::make_unique<Recorder>(world.ni(node)));
      world.ni(node).services().attach(ServiceId::test, services.back().get());
    }
  }
  struct Item : Message {
    int calls = 0;
    Result ended = Result::not_supported;
  };
  Item& post(Node from, Node to, FrameType type, const void* bytes, std::size_t size) {
    Item& item = items.emplace_back();
    item.type = type;
    item.tag = static_cast<std::uint8_t>(ServiceId::test);
    item.slices[0] = {bytes, size};
    item.slice_count = 1;
    item.done = [](Message* self, Result result) {
      ++static_cast<Item*>(self)->calls;
      static_cast<Item*>(self)->ended = result;
    };
    const PeerId peer = world.peer(from, to);
    const Ni::Access access(world.ni(from));
    world.ni(from).services().post(peer, item);
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
  REQUIRE((waiting.calls == 1 && waiting.ended == Result::unreachable));
  REQUIRE(at.world.settle());
  REQUIRE(at.services[0]->lost.size() == 1);
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
  REQUIRE((item.calls == 1 && item.ended == Result::unreachable));
  REQUIRE(sender.lost.empty());
  at.world.ni(0).progress();
  REQUIRE(sender.lost.size() == 1);
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
