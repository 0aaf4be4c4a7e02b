// The rails of a bond, over links of the test.
#include "link/bond/rails.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "link/bond/bond_wire.hpp"
#include "link/bond/losses.hpp"
#include "unit/link/fake_link.hpp"

using namespace lfc;
using namespace lfc::bond;

namespace {

struct LinkKind final : FakeLink {
  LinkKind(FrameSink& sink_, std::size_t payload_)
      : FakeLink({.name = "cable", .message_payload = payload_ + 100}),
        sink(sink_),
        payload(payload_) {}
  std::size_t max_payload() const noexcept override { return payload; }
  int poll() noexcept override {
    ++polls;
    return found;
  }
  void flush() noexcept override { ++pushes; }
  std::chrono::nanoseconds batched_since() const noexcept override { return kept; }
  Armed arm() noexcept override {
    armed = answer != Armed::busy;
    return answer;
  }
  void disarm() noexcept override { armed = false; }
  bool drained() const noexcept override { return empty; }
  std::size_t memory() const noexcept override { return 10; }
  bool register_memory(void*, std::size_t, LinkRegion& out) override {
    ++registered;
    out.key = key;
    return true;
  }
  void deregister_memory(LinkRegion&) noexcept override { --registered; }

  FrameSink& sink;
  const std::size_t payload;
  int found = 0, polls = 0, pushes = 0, registered = 0;
  std::chrono::nanoseconds kept{0};
  Armed answer = Armed::fully;
  bool armed = false, empty = true;
  std::uint64_t key = 7;
};

struct Both final : RailEvents {
  Both() {
    for (const std::size_t payload : {1000u, 800u}) {
      auto made = std::make_unique<LinkKind>(rails.next_sink(), payload);
      rails_below.push_back(made.get());
      rails.add("cable", std::move(made), RailUse::all);
    }
  }
  void on_rail_frame(std::uint8_t rail, PeerId id, Meta, std::span<const std::byte>) override {
    came = {rail, id};
  }
  PeerId on_rail_connect(std::uint8_t rail, const Address&) override { return rail; }
  Batch may_batch(bool) noexcept override { return Batch::no; }
  void on_rail_broken(std::uint8_t rail, PeerId id, std::string_view) override {
    broken = {rail, id};
  }
  int polls_of(std::size_t rail, int rounds) {
    const int before = rails_below[rail]->polls;
    for (; rounds > 0; --rounds) rails.poll();
    return rails_below[rail]->polls - before;
  }

  std::pair<int, PeerId> came{-1, kNoPeer}, broken{-1, kNoPeer};
  Rails rails{*this};
  std::vector<LinkKind*> rails_below;
};

}  // namespace

TEST_CASE("frames and losses are reported with the number of their rail", "[bond]") {
  Both both;
  both.rails_below[1]->sink.on_frame(5, {FrameType::message}, {});
  CHECK(both.came == std::pair<int, PeerId>{1, 5});
  both.rails_below[0]->sink.on_broken(6, *both.rails_below[0], "cut");
  CHECK(both.broken == std::pair<int, PeerId>{0, 6});
  CHECK(both.rails.count() == 2);
  CHECK(both.rails.max_payload() == 800 - sizeof(bond::Head));
  CHECK(both.rails.max_message() == 900 - sizeof(bond::Head));
}

TEST_CASE(
    "a rail on which nothing comes is polled less often, until it is armed or brings something",
    "[bond]") {
  Both both;
  both.rails_below[0]->found = 1;
  CHECK(both.polls_of(1, 4096) == 4096);
  CHECK(both.polls_of(1, 1600) == 100);
  CHECK(both.polls_of(0, 1600) == 1600);
  CHECK(both.rails_below[1]->pushes == 2 * 1500);  // its batched frames are flushed all the same
  both.rails_below[1]->found = 1;
  both.polls_of(1, 16);
  both.rails_below[1]->found = 0;
  CHECK(both.polls_of(1, 100) == 100);
  both.polls_of(1, 5000);
  CHECK(both.rails.arm(Link::Armed::fully) == Link::Armed::fully);
  CHECK(both.polls_of(1, 100) == 100);
}

TEST_CASE("rails are armed all or none, as well as the worst of them", "[bond]") {
  Both both;
  both.rails_below[1]->answer = Link::Armed::partly;
  CHECK(both.rails.arm(Link::Armed::fully) == Link::Armed::partly);
  CHECK(both.rails_below[0]->armed);
  both.rails_below[1]->answer = Link::Armed::busy;
  CHECK(both.rails.arm(Link::Armed::fully) == Link::Armed::busy);
  CHECK_FALSE(both.rails_below[0]->armed);
}

TEST_CASE("a region has one key on all rails, or is registered with none", "[bond]") {
  Both both;
  LinkRegion region;
  int data = 0;
  CHECK(both.rails.register_memory(&data, sizeof data, region));
  CHECK(region.key == 7);
  both.rails.deregister_memory(region);
  both.rails_below[1]->key = 8;
  CHECK_FALSE(both.rails.register_memory(&data, sizeof data, region));
  CHECK(both.rails_below[0]->registered == 0);
  CHECK(both.rails_below[1]->registered == 0);
}

TEST_CASE("rails have drained when all have, and keep back since the first of them does",
          "[bond]") {
  Both both;
  CHECK(both.rails.drained());
  CHECK(both.rails.batched_since().count() == 0);
  both.rails_below[0]->empty = false;
  both.rails_below[0]->kept = std::chrono::nanoseconds(50);
  CHECK_FALSE(both.rails.drained());
  CHECK(both.rails.batched_since().count() == 50);
  both.rails_below[1]->kept = std::chrono::nanoseconds(20);
  CHECK(both.rails.batched_since().count() == 20);
  CHECK(both.rails.memory() == 20);
}

TEST_CASE("the reason that a rail reports replaces a reason that the bond derived", "[bond]") {
  Both both;
  Sessions sessions;
  Counters counters;
  const BondOptions options;
  Losses losses(both.rails, sessions, options, counters);
  AddressWriter writer({{1, 5}, {}, 4});
  const auto blob = std::move(writer).finish();
  Session& session = sessions.add(*Address::parse(blob), 3);
  RailState& rail = session.rails[0];
  rail.rank = 0;
  rail.state = RailState::State::up;
  session.usable = session.live = 1;
  losses.suspect(session, 0, "it lost a put or get");
  losses.broke(session, 0, "its node is silent");
  CHECK(rail.why == "its node is silent");
  losses.leave(session, 0);
  losses.broke(session, 0, "too late, it has been told");
  CHECK(rail.why == "its node is silent");
  CHECK(session.usable == 0);
}
