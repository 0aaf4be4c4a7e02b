// Multicast behind a fake port: no engine, no link, no time. The test decides which peer has a credit.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "services/multicast/multicast.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;

namespace {

struct Sink : Multicast::Receiver {
  Reception take(const MulticastHeader&, std::span<const std::byte>) override {
    ++taken;
    return Reception::taken;
  }
  void keep(Multicast::Packet&) override {}
  void lost(Multicast::Reason) override { ++losses; }
  int taken = 0, losses = 0;
};

// A chain of four members on separate nodes; this is an inner one.
struct Inner {
  static constexpr Membership::Shape kShape{TreeShape::monotone, 1};
  explicit Inner(PeerId last_one = 3) {
    std::vector<ProcessName> names;
    std::vector<std::uint64_t> nodes;
    for (std::uint32_t member = 0; member < 4; ++member) {
      names.push_back({1, member});
      nodes.push_back(member);
    }
    members = Membership(names, nodes);
    multicast.join(group, 9, members, 1, {0, kNoPeer, 2, last_one}, sink);
  }
  ~Inner() { multicast.leave(group); }
  Service::Verdict arrives(PeerId from, std::uint32_t origin,
                           MulticastHeader::Kind kind = MulticastHeader::Kind::tree) {
    std::array<std::byte, sizeof(MulticastHeader) + 8> frame{};
    MulticastHeader header;
    header.kind = kind;
    header.group = 9;
    header.origin = origin;
    header.shape = kShape.shape;
    header.fan = static_cast<std::uint8_t>(kShape.fan);
    std::memcpy(frame.data(), &header, sizeof header);
    return port.service->on_frame(from, FrameType::service, frame);
  }

  MulticastHeader last() const { return load_pod<MulticastHeader>(port.head.data()); }

  FakePort port;
  Multicast multicast{port, {}};
  Membership members;
  Sink sink;
  Multicast::Group* group = nullptr;
};

}  // namespace

TEST_CASE("a packet goes on from the frame itself where the child has a credit", "[multicast]") {
  Inner at;
  REQUIRE(at.members.parent(Inner::kShape, 0, 1) == 0);
  REQUIRE(at.arrives(0, 0) == Service::Verdict::release);
  REQUIRE(at.port.sent == std::vector<PeerId>{2});
  REQUIRE(at.last().origin == 0);
  REQUIRE(at.sink.taken == 1);
  REQUIRE(at.multicast.packets() == 0);
}

TEST_CASE(
    "a packet whose child has no credit keeps its buffer until it has been sent, and frees it once",
    "[multicast]") {
  Inner at;
  at.port.credit[2] = false;
  REQUIRE(at.arrives(0, 0) == Service::Verdict::hold);
  REQUIRE(at.sink.taken == 1);  // without waiting for the child
  REQUIRE(at.port.waiting.size() == 1);
  REQUIRE(at.port.released.empty());
  at.port.leaves();
  REQUIRE(at.port.released == std::vector<PeerId>{0});
  REQUIRE(at.multicast.packets() == 0);
}

TEST_CASE("a packet that does not come from the tree's parent is malformed", "[multicast]") {
  Inner at;
  REQUIRE(at.arrives(3, 0) == Service::Verdict::malformed);
  REQUIRE(at.sink.taken == 0);
  REQUIRE(at.port.sent.empty());
}

TEST_CASE("a member that detects a loss notifies all other members that are left", "[multicast]") {
  Inner at;
  at.port.lost[3] = true;
  at.port.service->on_lost(3);
  REQUIRE(at.sink.losses == 1);
  REQUIRE(at.port.sent == std::vector<PeerId>{0, 2});
  REQUIRE(at.last().kind == MulticastHeader::Kind::lost);
}

TEST_CASE("a member can reply to a member that it has not met", "[multicast]") {
  Inner at(kNoPeer);
  at.multicast.give_up(*at.group);
  REQUIRE(at.port.sent == std::vector<PeerId>{0, 2});
  REQUIRE(at.arrives(3, 3, MulticastHeader::Kind::direct) == Service::Verdict::release);
  at.multicast.give_up(*at.group, 3, Multicast::Reason::loss);
  REQUIRE(at.port.sent.back() == 3);
}

TEST_CASE("a packet that leaves while its service ends is reported to a service that knows it",
          "[multicast]") {
  std::optional<Inner> at(std::in_place);
  at->port.credit[2] = at->port.credit[0] = false;
  const std::array<std::byte, 8> bytes{};
  std::atomic<std::uint32_t> unsent{0};
  MulticastHeader header;
  header.shape = Inner::kShape.shape;
  header.fan = static_cast<std::uint8_t>(Inner::kShape.fan);
  at->multicast.send(*at->group, header, bytes, unsent);
  REQUIRE(unsent == 1);
  FakePort& port = at->port;
  port.ending = [&port] {
    while (!port.waiting.empty()) port.leaves();
  };
  at.reset();
  CHECK(unsent == 0);
}

TEST_CASE("packets for a group that is never joined end with the service, with Access",
          "[multicast]") {
  FakePort port(SendLock::Kind::shared);
  GuardedBytes kept(port);
  {
    Multicast multicast(port, {});
    std::array<std::byte, sizeof(MulticastHeader) + 8> frame{};
    MulticastHeader header;
    header.group = 10;
    std::memcpy(frame.data(), &header, sizeof header);
    REQUIRE(port.service->on_frame(0, FrameType::service, frame) == Service::Verdict::hold);
    REQUIRE(kept.owners == 1);
  }
  CHECK(kept.ended == 1);
  CHECK(kept.ended_without_access == 0);
}
