// Measured times of messages select the faster way, and counters count both ways.
#include "engine/message_ways.hpp"

#include <cstdint>
#include <vector>

#include "catch.hpp"

namespace lfc::message_ways_test {
namespace {

constexpr std::size_t kSize = 64 * 1024;

void spend(std::uint64_t nanoseconds) {
  const std::uint64_t begin = MessageWays::now();
  while (MessageWays::now() - begin < nanoseconds) continue;
}

struct Receiver {
  Counters counters;
  MessageWays ways{counters};
  std::vector<std::byte> memory = std::vector<std::byte>(kSize);

  RemoteOp message(PeerId peer) {
    RemoteOp op;
    op.peer = peer;
    op.size = kSize;
    op.local = memory.data();
    ways.choose(op);
    return op;
  }
  // How many of this many messages are copied; one by one.
  int receive(PeerId peer, int messages, std::uint64_t copy, std::uint64_t stream) {
    int copied = 0;
    for (int i = 0; i < messages; ++i) {
      const RemoteOp op = message(peer);
      const std::uint64_t began = MessageWays::now();
      spend(op.native ? copy : stream);
      if (op.native) {
        ++copied;
        ways.copied(op, began);
      } else {
        ways.streamed(op);
      }
    }
    return copied;
  }
};

}  // namespace

TEST_CASE("message ways: each peer's messages come by the way that is faster for it", "[ways]") {
  Receiver receiver;
  CHECK(receiver.receive(0, 100, 2'000, 100'000) > 50);
  CHECK(receiver.receive(3, 100, 100'000, 2'000) < 50);
  const Counters& counters = receiver.counters;
  CHECK(counters.get(Counter::fetches_copied) + counters.get(Counter::fetches_streamed) == 200);
  CHECK(counters.get(Counter::fetches_tried) >= 6);
}

// The time of a streamed message begins at the end of the previous one. The time between its request and that end
// belongs to the others.
TEST_CASE("message ways: messages in a queue are not charged for those before them", "[ways]") {
  Receiver receiver;
  receiver.receive(0, 3 + 2, 20'000, 20'000);  // the first way is measured
  std::vector<RemoteOp> queue;
  for (int i = 0; i < 8; ++i) queue.push_back(receiver.message(0));
  for (const RemoteOp& op : queue) {
    REQUIRE_FALSE(op.native);  // all of them are trials
    spend(1'000);
    receiver.ways.streamed(op);
  }
  CHECK_FALSE(receiver.message(0).native);
  CHECK_FALSE(receiver.message(0).choice->tried);
}

TEST_CASE("message ways: the time of a copy is not counted for a streamed message", "[ways]") {
  Receiver receiver;
  receiver.receive(0, 3 + 2, 20'000, 20'000);
  const RemoteOp other = [&] {
    RemoteOp op = receiver.message(1);
    REQUIRE(op.native);
    return op;
  }();
  for (int i = 0; i < 8; ++i) {  // its measured time is 0, because its frames arrived during a copy
    const RemoteOp op = receiver.message(0);
    REQUIRE_FALSE(op.native);
    receiver.ways.copied(other, MessageWays::now());
    receiver.ways.streamed(op);
  }
  CHECK(receiver.message(0).choice->tried);  // no result yet
}

}  // namespace lfc::message_ways_test
