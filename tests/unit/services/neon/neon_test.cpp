// Each rule of the NEON thesis' 5.2, and each decision where it is silent (mca/libraries/mpix_neon/README.md).
#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon {
namespace {

std::uint64_t sent(World::Node& node, Kind kind) {
  return node.sent[static_cast<std::size_t>(kind)];
}

Status put(World& world, Op& op, Rank from, Rank to, std::uint32_t tag, std::uint64_t offset,
           const std::vector<std::byte>& data, bool final = true, bool strong = false) {
  return world[from].neon.origin().put(op, to, tag, offset, data.data(), data.size(), final,
                                       strong);
}
Status notify(World& world, Op& op, Rank from, Rank to, std::uint32_t tag) {
  return put(world, op, from, to, tag, 0, {});
}

}  // namespace

TEST_CASE("what was told of a generation says nothing of one that comes 2^31 later", "[neon]") {
  Stream stream;
  stream.failed = 10;
  stream.granted = 12;
  REQUIRE(is_withdrawn(stream, 9));
  REQUIRE(is_withdrawn(stream, 10));
  REQUIRE(is_withdrawn(stream, 11));
  REQUIRE_FALSE(is_withdrawn(stream, 12));
  for (std::uint64_t generation = 13; generation < 0x200000000; generation += 0x10000000)
    REQUIRE_FALSE(is_withdrawn(stream, static_cast<std::uint32_t>(generation)));
  REQUIRE(next_generation(0xfffffffe) == 0xffffffff);
  REQUIRE(next_generation(0xffffffff) == 1);
}

TEST_CASE("a final put completes the announcement that names its origin", "[neon]") {
  World world(2, {});
  Buffer buffer(64, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  const auto data = pattern(64, 1);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(op.times == 1);  // complete locally, in the call
  REQUIRE(buffer.times == 0);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.result == Status::ok);
  REQUIRE(buffer.memory == data);
  REQUIRE(buffer.notified == std::vector<Rank>{1});
  REQUIRE(sent(world[0], Kind::grant) == 0);  // the announcement did not travel
  REQUIRE(world[0].neon.statistics().frames == 0);
}

TEST_CASE("a put before its announcement is parked and completes at the origin", "[neon]") {
  World world(2, {});
  const auto data = pattern(1000, 2);
  Op op;
  REQUIRE(put(world, op, 1, 0, 300, 24, data) == Status::ok);
  REQUIRE(op.times == 1);
  REQUIRE(world.run());
  REQUIRE(world[0].neon.statistics().parked == 1000 + kOverhead);
  Buffer buffer(1024, {1}, 300);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(buffer.times == 1);  // at once, without a frame (R12)
  REQUIRE(std::equal(data.begin(), data.end(), buffer.memory.begin() + 24));
  REQUIRE(world[0].neon.statistics().parked == 0);
}

TEST_CASE("a large put waits for its announcement without blocking", "[neon]") {
  const bool writes = GENERATE(false, true);
  World world(2, {.writes = writes});
  const auto data = pattern(200000, 3);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.times == 0);
  REQUIRE(world[0].neon.statistics().parked == 0);
  REQUIRE(sent(world[1], Kind::want) == 1);
  Buffer buffer(200000, {1}, 7);
  buffer.token = world[0].expose(buffer);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.times == 1);
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
  REQUIRE(sent(world[1], Kind::data) == (writes ? 1 : (200000 + 4095) / 4096));
  // From now on the origin hears of each announcement, once, unasked.
  for (int round = 1; round <= 5; ++round) {
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(sent(world[0], Kind::grant) == static_cast<unsigned>(round) + 1);
    REQUIRE(world.run());
    Op again;
    REQUIRE(put(world, again, 1, 0, 7, 0, data) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == round + 1);
  }
  REQUIRE(sent(world[1], Kind::want) == 1);
}

TEST_CASE("an announcement between the fragments of a put takes both halves", "[neon]") {
  World world(2, {});
  const auto data = pattern(16384, 4);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.frames.size() == 4);
  REQUIRE(world.step());
  REQUIRE(world.step());
  Buffer buffer(16384, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(buffer.times == 0);
  REQUIRE(world[0].neon.statistics().hybrid == 1);
  REQUIRE(world[0].neon.statistics().parked == 0);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
}

TEST_CASE("many NON_FINAL puts are covered by one final", "[neon]") {
  World world(2, {.seed = 5, .reorder = true});
  Buffer buffer(8000, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  const auto data = pattern(8000, 5);
  std::vector<Op> ops(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::vector<std::byte> piece(data.begin() + static_cast<std::ptrdiff_t>(8 * i),
                                       data.begin() + static_cast<std::ptrdiff_t>(8 * i + 8));
    REQUIRE(put(world, ops[i], 1, 0, 7, 8 * i, piece, i == 999) == Status::ok);
    if (ops[i].times == 0) REQUIRE(world.run());  // `piece` ends here
    REQUIRE(ops[i].times == 1);
  }
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
}

TEST_CASE("a notification alone, and a final put of nothing, do the same", "[neon]") {
  const bool blocked = GENERATE(false, true);
  World world(2, {});
  Buffer buffer(8, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  const auto data = pattern(8, 6);
  Op op, last;
  world.blocked = blocked;
  REQUIRE(put(world, op, 1, 0, 7, 0, data, false) == Status::ok);
  // While the last put waits it becomes the final one; no frame of its own.
  REQUIRE(world[1].neon.origin().merge_notification(0, 7) == blocked);
  if (!blocked) REQUIRE(notify(world, last, 1, 0, 7) == Status::ok);
  world.blocked = false;
  REQUIRE(world.run());
  REQUIRE(sent(world[1], Kind::data) == (blocked ? 1 : 2));
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
  REQUIRE_FALSE(world[1].neon.origin().merge_notification(0, 7));  // nothing left to merge into
}

TEST_CASE("the final's completion covers the puts before it", "[neon]") {
  World world(2, {.refuse = 0.5, .writes = true});
  Buffer buffer(100000, {1}, 7);
  buffer.token = world[0].expose(buffer);
  auto large = pattern(50000, 7), small = pattern(10, 8);
  Op first, second, last;
  REQUIRE(put(world, first, 1, 0, 7, 0, large, false) == Status::ok);
  REQUIRE(put(world, second, 1, 0, 7, 60000, small, false) == Status::ok);
  REQUIRE(put(world, last, 1, 0, 7, 70000, small, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(last.times == 0);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  for (int i = 0; last.times == 0 && i < 100000; ++i) {
    REQUIRE(world.step());
    world[0].neon.pump();
    world[1].neon.pump();
  }
  REQUIRE(first.times == 1);
  REQUIRE(second.times == 1);
  const auto copy = large;
  std::fill(large.begin(), large.end(), std::byte{0});  // the program may reuse it now
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(std::equal(copy.begin(), copy.end(), buffer.memory.begin()));
}

TEST_CASE("a STRONG put completes when its bytes are in the target's buffer", "[neon]") {
  World world(2, {.reorder = true});
  const auto data = pattern(10000, 9);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, data, true, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.times == 0);
  Buffer buffer(10000, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(op.times == 0);
  REQUIRE(world.run());
  REQUIRE(op.times == 1);
  REQUIRE(buffer.memory == data);
}

TEST_CASE("all named origins must have notified", "[neon]") {
  World world(5, {});
  Buffer buffer(32, {3, 1, 4}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  const auto data = pattern(8, 10);
  Op one, two, three, stranger;
  REQUIRE(put(world, stranger, 2, 0, 7, 0, data) == Status::ok);  // not in the list
  REQUIRE(put(world, one, 1, 0, 7, 8, data) == Status::ok);
  REQUIRE(put(world, two, 4, 0, 7, 16, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 0);
  REQUIRE(buffer.notified.size() == 2);
  REQUIRE(put(world, three, 3, 0, 7, 24, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.notified.back() == 3);
  // The stranger's put stays pending, touches nothing, and can be told of.
  REQUIRE(std::all_of(buffer.memory.begin(), buffer.memory.begin() + 8,
                      [](std::byte b) { return b == std::byte{0}; }));
  const auto early = world[0].neon.target().early();
  REQUIRE(early.size() == 1);
  REQUIRE(early[0].origin == 2);
  REQUIRE(early[0].tag == 7);
}

TEST_CASE("an origin that is ahead never touches the buffer of an earlier round", "[neon]") {
  World world(2, {});
  Buffer buffer(8, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  std::vector<Op> ops(5);
  for (std::uint64_t round = 0; round < 5; ++round)
    REQUIRE(put(world, ops[round], 1, 0, 7, 0, pattern(8, 100 + round)) == Status::ok);
  REQUIRE(world.run());
  for (int round = 0; round < 5; ++round) {
    REQUIRE(buffer.times == round + 1);
    REQUIRE(buffer.memory == pattern(8, 100 + static_cast<std::uint64_t>(round)));
    if (round < 4) REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  }
}

TEST_CASE("tags and targets do not get in each other's way", "[neon]") {
  World world(3, {});
  Buffer even(8, {1}, 0), odd(8, {1}, 1), other(8, {1}, 0);
  REQUIRE(world[0].neon.target().announce(even) == Status::ok);
  REQUIRE(world[0].neon.target().announce(odd) == Status::ok);
  REQUIRE(world[2].neon.target().announce(other) == Status::ok);
  Op a, b, c;
  REQUIRE(put(world, a, 1, 0, 1, 0, pattern(8, 1)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE((odd.times == 1 && even.times == 0 && other.times == 0));
  REQUIRE(put(world, b, 1, 2, 0, 0, pattern(8, 2)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE((even.times == 0 && other.times == 1));
  REQUIRE(put(world, c, 1, 0, 0, 0, pattern(8, 3)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(even.times == 1);
  REQUIRE(even.memory == pattern(8, 3));
  REQUIRE(odd.memory == pattern(8, 1));
  REQUIRE(other.memory == pattern(8, 2));
}

TEST_CASE("one tag, two announcements: only with different origins", "[neon]") {
  World world(3, {});
  Buffer first(8, {1}, 7), same(8, {2, 1}, 7), other(8, {2}, 7);
  REQUIRE(world[0].neon.target().announce(first) == Status::ok);
  REQUIRE(world[0].neon.target().announce(same) == Status::busy);   // G1
  REQUIRE(world[0].neon.target().announce(first) == Status::busy);  // G9
  REQUIRE(world[0].neon.target().announce(other) == Status::ok);
  Op a, b;
  REQUIRE(put(world, a, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
  REQUIRE(put(world, b, 2, 0, 7, 0, pattern(8, 2)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(first.memory == pattern(8, 1));
  REQUIRE(other.memory == pattern(8, 2));
  Buffer twice(8, {1, 1}, 7), nobody(8, {9}, 7), none(8, {}, 7);
  REQUIRE(world[0].neon.target().announce(twice) == Status::rank);
  REQUIRE(world[0].neon.target().announce(nobody) == Status::rank);
  REQUIRE(world[0].neon.target().announce(none) == Status::ok);
  REQUIRE(none.times == 1);
}

TEST_CASE("what lies outside the announced buffer is never written", "[neon]") {
  World world(2, {.writes = true});
  Buffer buffer(100, {1}, 7);
  buffer.memory.resize(200000);  // guards behind it
  buffer.address = buffer.memory.data();
  buffer.token = world[0].expose(buffer);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  SECTION("found at the target") {
    Op op;
    const std::uint64_t offset = GENERATE(99, 101, ~std::uint64_t{0}, ~std::uint64_t{0} - 1);
    REQUIRE(put(world, op, 1, 0, 7, offset, pattern(2, 1)) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == 1);
    REQUIRE(buffer.result == Status::range);
    REQUIRE(world[0].neon.statistics().overruns == 1);
  }
  SECTION("found at the origin, which waited for the announcement") {
    Op op;
    REQUIRE(put(world, op, 1, 0, 7, 0, pattern(100000, 1)) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(op.times == 1);
    REQUIRE(op.result == Status::range);
    REQUIRE(buffer.times == 1);
    REQUIRE(buffer.result == Status::range);
    // Now the origin knows the size before it begins: nothing happens, the generation stays.
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(world.run());
    Op known, good;
    REQUIRE(put(world, known, 1, 0, 7, 99, pattern(2, 1)) == Status::range);
    REQUIRE(known.times == 0);
    REQUIRE(put(world, good, 1, 0, 7, 0, std::vector<std::byte>(100)) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == 2);
    REQUIRE(buffer.result == Status::ok);
  }
  REQUIRE(std::all_of(buffer.memory.begin(), buffer.memory.end(),
                      [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("a withdrawn announcement takes nothing any more, and the tag is free", "[neon]") {
  World world(2, {});
  Buffer old(8, {1}, 7), next(16, {1}, 7);
  REQUIRE(world[0].neon.target().announce(old) == Status::ok);
  Op late, large, good;
  REQUIRE(put(world, late, 1, 0, 7, 0, pattern(8, 1), false) == Status::ok);
  REQUIRE(world[0].neon.target().withdraw(old));
  REQUIRE_FALSE(world[0].neon.target().withdraw(old));
  REQUIRE(world.run());
  REQUIRE(old.memory == std::vector<std::byte>(8));
  REQUIRE(world[0].neon.statistics().late == 1);
  // One that waits for it is told.
  const auto data = pattern(100000, 2);
  REQUIRE(put(world, large, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(large.times == 1);
  REQUIRE(large.result == Status::withdrawn);
  REQUIRE(world[0].neon.target().announce(next) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(put(world, good, 1, 0, 7, 8, pattern(8, 3)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(next.times == 1);
  REQUIRE(next.result == Status::ok);
  REQUIRE(std::equal(next.memory.begin() + 8, next.memory.end(), pattern(8, 3).begin()));
}

TEST_CASE("a put of a withdrawn round does not go into the next round's buffer", "[neon]") {
  World world(2, {.writes = true});
  Buffer old(100000, {1}, 7), next(100000, {1}, 7);
  old.token = world[0].expose(old);
  next.token = world[0].expose(next);
  Op stale, fresh;
  const auto data = pattern(100000, 1), good = pattern(100000, 2);
  REQUIRE(put(world, stale, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(put(world, fresh, 1, 0, 7, 0, good) == Status::ok);
  REQUIRE(world[0].neon.target().announce(old) == Status::ok);
  REQUIRE(world[0].neon.target().withdraw(old));
  REQUIRE(world[0].neon.target().announce(next) == Status::ok);
  REQUIRE(world.run());  // the `want` arrives only now
  REQUIRE(stale.times == 1);
  REQUIRE(stale.result == Status::withdrawn);
  REQUIRE(fresh.times == 1);
  REQUIRE(next.memory == good);
  REQUIRE(old.memory == std::vector<std::byte>(100000));
}

TEST_CASE("ten thousand puts without an announcement: bounded memory, then all arrive", "[neon]") {
  World world(2, {.seed = 3, .reorder = true});
  std::vector<Op> ops(10000);
  for (std::uint64_t i = 0; i < ops.size(); ++i)
    REQUIRE(world[1].neon.origin().put(ops[i], 0, 7, 0, &i, 0, true, false) == Status::ok);
  REQUIRE(world.run());
  const std::uint32_t budget = world.fabric.limits.budget;
  REQUIRE(world[0].neon.statistics().parked <= budget);
  REQUIRE(world[1].neon.origin().waiting(0) == 10000 - budget / kOverhead);
  Buffer buffer(8, {1}, 7);
  for (int round = 1; round <= 10000; ++round) {
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == round);
  }
  REQUIRE(world[0].neon.statistics().parked_most <= budget);
  REQUIRE(world[0].neon.statistics().parked == 0);
  REQUIRE(world[1].neon.origin().open(0) == 0);
}

TEST_CASE("a full budget for one tag does not stop another that is announced", "[neon]") {
  World world(2, {});
  const auto data = pattern(4000, 1);
  std::vector<Op> ops(40);
  for (Op& op : ops) REQUIRE(put(world, op, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.run());
  Buffer other(4000, {1}, 8);
  REQUIRE(world[0].neon.target().announce(other) == Status::ok);
  Op op;
  REQUIRE(put(world, op, 1, 0, 8, 0, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.times == 1);
  REQUIRE(other.times == 1);
}

TEST_CASE("small rounds cost no frame but the data, and refunds now and then", "[neon]") {
  World world(2, {});
  Buffer buffer(8, {1}, 7);
  for (int round = 1; round <= 10000; ++round) {
    Op op;
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(put(world, op, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == round);
  }
  REQUIRE(sent(world[1], Kind::data) == 10000);
  REQUIRE(world[1].neon.statistics().frames == 10000);
  REQUIRE(world[0].neon.statistics().frames == sent(world[0], Kind::refund));
  REQUIRE(sent(world[0], Kind::refund) <= 10000 * (8 + kOverhead) / (65536 / 2));
}

TEST_CASE("a get waits for the announcement and is covered by the notification", "[neon]") {
  World world(2, {.seed = 11, .reorder = true, .refuse = 0.3});
  Buffer buffer(100000, {1}, 7);
  const auto content = pattern(100000, 1);
  buffer.memory = content;
  buffer.address = buffer.memory.data();
  std::vector<std::byte> result(90000), small(8);
  Op get, last, far;
  REQUIRE(world[1].neon.origin().get(get, 0, 7, 5000, result.data(), result.size()) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(get.times == 0);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world[1].neon.origin().get(far, 0, 7, 99999, small.data(), 8) == Status::ok);
  REQUIRE(notify(world, last, 1, 0, 7) == Status::ok);
  bool changed = false;
  while (!world.frames.empty() || world[0].neon.stalled() || world[1].neon.stalled()) {
    REQUIRE(world.step());
    if (buffer.times == 1 && !changed) {
      changed = true;  // the target's from here on
      std::fill(buffer.memory.begin(), buffer.memory.end(), std::byte{0});
    }
    world[0].neon.pump();
    world[1].neon.pump();
  }
  REQUIRE(changed);
  REQUIRE(get.times == 1);
  REQUIRE(get.result == Status::ok);
  REQUIRE(std::equal(result.begin(), result.end(), content.begin() + 5000));
  REQUIRE(far.times == 1);
  REQUIRE(far.result == Status::range);
}

TEST_CASE("a withdrawn buffer answers no get", "[neon]") {
  World world(2, {});
  Buffer buffer(100000, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  std::vector<std::byte> result(90000);
  Op get;
  REQUIRE(world[1].neon.origin().get(get, 0, 7, 0, result.data(), result.size()) == Status::ok);
  world.blocked = true;
  REQUIRE(world.step());  // the answer finds no room
  REQUIRE(world[0].neon.target().withdraw(buffer));
  buffer.memory = {};
  world.blocked = false;
  REQUIRE(world.run());
  REQUIRE(get.times == 1);
  REQUIRE(get.result == Status::withdrawn);
}

TEST_CASE("a persistent announcement is never used up", "[neon]") {
  World world(3, {});
  Buffer word(8, {1, 2}, 7);
  word.persistent = true;
  REQUIRE(world[0].neon.target().announce(word) == Status::ok);
  REQUIRE(word.times == 1);
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    Op op;
    REQUIRE(world[1].neon.origin().put(op, 0, 7, 0, &i, 8, i % 10 == 0, false) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(op.times == 1);
    std::uint64_t value = 0;
    std::memcpy(&value, word.memory.data(), 8);
    REQUIRE(value == i);
  }
  REQUIRE(word.notifications.value() == 500);
  REQUIRE(word.times == 1);
  REQUIRE(world[0].neon.target().withdraw(word));
}

TEST_CASE("a lost peer leaves nobody waiting", "[neon]") {
  World world(3, {.writes = true});
  Buffer theirs(8, {1}, 7), both(8, {1, 2}, 8);
  REQUIRE(world[0].neon.target().announce(theirs) == Status::ok);
  REQUIRE(world[0].neon.target().announce(both) == Status::ok);
  const auto data = pattern(100000, 1);
  std::vector<std::byte> result(8);
  Op large, get, strong, ours, after;
  REQUIRE(put(world, large, 0, 1, 7, 0, data) == Status::ok);
  REQUIRE(world[0].neon.origin().get(get, 1, 9, 0, result.data(), 8) == Status::ok);
  REQUIRE(put(world, strong, 0, 1, 10, 0, result, true, true) == Status::ok);
  REQUIRE(put(world, ours, 2, 0, 8, 0, result) == Status::ok);
  world[0].neon.on_lost(1);
  for (const Op* op : {&large, &get, &strong}) {
    REQUIRE(op->times == 1);
    REQUIRE(op->result == Status::unreachable);
  }
  REQUIRE(world[0].neon.origin().open(1) == 0);
  REQUIRE(theirs.times == 1);
  REQUIRE(theirs.result == Status::unreachable);
  REQUIRE(both.times == 0);
  REQUIRE(world.run());
  REQUIRE(both.times == 1);
  REQUIRE(both.result == Status::unreachable);
  REQUIRE(put(world, after, 0, 1, 7, 0, result) == Status::unreachable);
  REQUIRE(world[0].neon.target().announce(theirs) == Status::unreachable);
}

TEST_CASE("notified puts count when all their frames are in place", "[neon]") {
  World world(2, {.seed = 13, .reorder = true, .refuse = 0.2});
  const auto data = pattern(30000, 1);
  Op whole, first, second, outside, unknown, get;
  whole.data = first.data = const_cast<std::byte*>(data.data());
  whole.size = 20000;
  first.size = 5000;
  second.data = first.data + 5000;
  second.size = 5000;
  second.within = 20000;
  Operation* one[] = {&whole};
  Operation* two[] = {&first, &second};
  REQUIRE(world[1].neon.origin().put_notify(one, 1, 0, 100, 3, false) == Status::ok);
  for (int i = 0; world[0].slots[3].value() == 0 && i < 100000; ++i) {
    REQUIRE(world.step());
    world[1].neon.pump();
  }
  REQUIRE(std::equal(data.begin(), data.begin() + 20000, world[0].memory.begin() + 100));
  REQUIRE(world[1].neon.origin().put_notify(two, 2, 0, 30000, 4, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(world[0].slots[4].value() == 1);
  REQUIRE((first.times == 1 && second.times == 1));
  REQUIRE(std::equal(data.begin(), data.begin() + 5000, world[0].memory.begin() + 30000));
  REQUIRE(std::equal(data.begin() + 5000, data.begin() + 10000, world[0].memory.begin() + 50000));

  outside.data = unknown.data = whole.data;
  outside.size = 10000;
  Operation* bad[] = {&outside};
  REQUIRE(world[1].neon.origin().put_notify(bad, 1, 0, 60000, 3, true) == Status::ok);
  Operation* nowhere[] = {&unknown};
  REQUIRE(world[1].neon.origin().put_notify(nowhere, 1, 0, 0, 99, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(outside.result == Status::range);
  REQUIRE(unknown.result == Status::range);
  REQUIRE(world[0].slots[3].value() == 1);

  std::vector<std::byte> result(20000);
  REQUIRE(world[1].neon.origin().get_notify(get, 0, 100, result.data(), 20000, 5) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(get.times == 1);
  REQUIRE(std::equal(result.begin(), result.end(), data.begin()));
  REQUIRE(world[0].slots[5].value() == 1);
}

TEST_CASE("frames that no honest peer sends are refused", "[neon]") {
  World world(2, {});
  Neon& neon = world[0].neon;
  Buffer buffer(8, {1}, 7);
  REQUIRE(neon.target().announce(buffer) == Status::ok);
  const std::vector<std::byte> bytes(8192);
  const auto refused = [&](Header header, std::size_t size) {
    return !neon.on_frame(1, header, bytes.data(), size);
  };
  Header data;
  data.kind = Kind::data;
  data.tag = 7;
  data.generation = 1;
  CHECK(refused(data, 5000));  // longer than a frame
  data.kind = static_cast<Kind>(77);
  CHECK(refused(data, 0));
  data.kind = Kind::data;
  data.generation = 2;
  CHECK(refused(data, 8));  // early, but nobody has paid for it
  data.generation = 0;
  CHECK(refused(data, 8));  // of the past
  data.generation = 1;
  data.flags = kFinal;
  data.count = 0;
  CHECK(refused(data, 8));
  Header other;
  other.kind = Kind::answer;
  CHECK(refused(other, 0));
  other.kind = Kind::delivered;
  other.id = 12345;
  CHECK(refused(other, 0));
  other.kind = Kind::grant;
  CHECK(refused(other, 0));  // nobody asked
  CHECK(refused(other, Token::kRoom + 1));
  other.kind = Kind::refund;
  other.refund = 1;
  CHECK(refused(other, 0));  // nothing was charged
  CHECK(!neon.on_frame(2, Header{}, nullptr, 0));
  // More early data than the budget.
  data = {};
  data.kind = Kind::data;
  data.flags = kCharged;
  data.tag = 8;
  data.generation = 5;
  std::uint64_t taken = 0;
  while (!refused(data, 4096)) ++taken;
  CHECK(taken == 65536 / (4096 + kOverhead));
}

TEST_CASE("early frames beyond those that the final one counts go nowhere", "[neon]") {
  World world(2, {});
  Neon& neon = world[0].neon;
  const std::vector<std::byte> bytes(8, std::byte{0x77});
  Header data;
  data.kind = Kind::data;
  data.flags = kCharged | kFinal;
  data.tag = 7;
  data.generation = 1;
  data.count = 1;
  for (int i = 0; i < 3; ++i) REQUIRE(neon.on_frame(1, data, bytes.data(), bytes.size()));
  Buffer buffer(8, {1}, 7);
  SECTION("used up by the first") {}
  SECTION("persistent: nor into the next round") { buffer.persistent = true; }
  REQUIRE(neon.target().announce(buffer) == Status::ok);
  CHECK(buffer.notifications.value() == 1);
  CHECK(neon.target().early().empty());
}

TEST_CASE("generations may wrap around", "[neon]") {
  REQUIRE(reached(0, 0xffffffffu));
  REQUIRE(reached(5, 5));
  REQUIRE_FALSE(reached(0xffffffffu, 0));
  REQUIRE_FALSE(reached(4, 5));
}

}  // namespace lfc::neon
