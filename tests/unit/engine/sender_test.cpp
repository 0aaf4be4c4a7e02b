// Sender: its guarantees alone, over a link whose results the test sets.
#include "engine/sender.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "sync/send_lock.hpp"
#include "unit/link/fake_link.hpp"

namespace lfc {
namespace {

class ToldLink final : public FakeLink {
 public:
  ToldLink() : FakeLink({.name = "told"}) {}
  std::size_t max_payload() const noexcept override { return 256; }
  void publish(AddressWriter& writer) const override { writer.add(name(), {}); }
  SendStatus send(PeerId, Meta meta, const Slice*, int) noexcept override {
    ++attempts;
    if (status == SendStatus::sent) sent.push_back(meta);
    return status;
  }

  SendStatus status = SendStatus::sent;
  int attempts = 0;
  std::vector<Meta> sent;
};

struct NoOperations final : Sender::Operations {
  Sender::Step send(Peer&, Waiting&) override { return Sender::Step::waits; }
  void fail(Waiting&) override {}
};

// One NI's sending half, and a peer with a window of two credits.
struct Bench {
  Bench() {
    auto made = std::make_unique<ToldLink>();
    link = made.get();
    peers.add_link(std::move(made));
    std::string why_not;
    const Identity other{{1, 1}, 2, 2};
    peer = &peers.at(peers.add(*Address::parse(AddressWriter(other).finish()), why_not));
    REQUIRE(peers.connect(*peer));
  }
  bool try_message() {
    const Slice slices[] = {{"abcd", 4}, {"efgh", 4}};
    return sender.try_message(*peer, 1, slices, 2);
  }

  const Config config{.name = {1, 0}};
  const Identity identity{{1, 0}, 1, 2};
  Counters counters;
  SendLock lock{SendLock::Kind::none};
  Outcomes outcomes{lock};
  Activity activity;
  NoOperations operations;
  PeerTable peers{config, identity, counters, activity, outcomes};
  Sender sender{peers, counters, activity, outcomes, operations};
  ToldLink* link = nullptr;
  Peer* peer = nullptr;
};

}  // namespace

TEST_CASE("a packet that cannot go is tried once, and waits", "[sender]") {
  Bench at;
  PacketPool& packets = at.sender.packets();
  const auto packet = [&] { return packets.take(FrameType::service, 0, 8); };
  at.link->status = SendStatus::again;
  REQUIRE_FALSE(at.sender.send(*at.peer, at.peer->waiting, packet()));
  CHECK(at.link->attempts == 1);
  CHECK(at.counters.get(Counter::link_stalls) == 1);
  CHECK(at.peer->waiting.size() == 1);
  REQUIRE_FALSE(at.sender.send(*at.peer, at.peer->waiting, packet()));
  CHECK(at.link->attempts == 1);
  at.link->status = SendStatus::sent;
  at.sender.retry_all();
  CHECK(at.link->sent.size() == 2);
  CHECK(packets.in_use() == 0);
}

TEST_CASE("a message that cannot go is tried once, and leaves no trace", "[sender]") {
  Bench at;
  at.link->status = SendStatus::again;
  REQUIRE_FALSE(at.try_message());
  REQUIRE(at.link->attempts == 1);
  REQUIRE(at.peer->flow.credits().available() == 2);
  REQUIRE(at.counters.get(Counter::frames_sent) == 0);
  at.link->status = SendStatus::sent;
  REQUIRE(at.try_message());
  REQUIRE(at.try_message());
  REQUIRE(at.link->attempts == 3);
  REQUIRE_FALSE(at.try_message());  // without a credit the link is not called
  REQUIRE(at.link->attempts == 3);
}

TEST_CASE("an answer passes messages that wait for a credit", "[sender]") {
  Bench at;
  while (at.try_message()) continue;
  Message message;
  message.slices[0] = {"late", 4};
  message.slice_count = 1;
  at.sender.post(*at.peer, at.peer->waiting, message);
  REQUIRE(at.link->sent.size() == 2);
  const std::uint64_t answer = 7;
  at.sender.reply(*at.peer, FrameType::service_ack, 0, &answer, sizeof answer);
  REQUIRE(at.link->sent.size() == 3);
  REQUIRE(at.link->sent.back().type == FrameType::service_ack);
  REQUIRE(at.sender.add_credits(*at.peer, 1));
  REQUIRE(at.link->sent.back().type == FrameType::message);
  REQUIRE(at.outcomes.any());
}

TEST_CASE("a message for which the link has no room is left over, and leaves in a later pass",
          "[sender]") {
  Bench at;
  at.link->status = SendStatus::again;
  Message message;
  message.done = [](Message*, Result) {};
  at.sender.post(*at.peer, at.peer->waiting, message);
  REQUIRE(at.activity.left_over());
  REQUIRE(at.activity.take_left_over());
  at.link->status = SendStatus::sent;
  at.sender.retry_all();
  REQUIRE(at.link->sent.size() == 1);
  REQUIRE_FALSE(at.activity.left_over());
}

}  // namespace lfc
