// Each rule of section 5.2 of the NEON thesis, and each decision on a gap in it (mca/libraries/mpix_neon/README.md).
#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon {

TEST_CASE("a withdrawal of one generation does not concern a generation 2^31 later", "[neon]") {
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
  REQUIRE(sent(world[0], Kind::grant) == 0);  // the announcement sent no frame
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
  // From now on the target sends each announcement to the origin, once, without a request.
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
    if (ops[i].times == 0) REQUIRE(world.run());  // `piece` may be reused after that
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
  // While the last put waits it becomes the final one, and no further frame is needed.
  REQUIRE(world[1].neon.origin().merge_notification(0, 7) == blocked);
  if (!blocked) REQUIRE(notify(world, last, 1, 0, 7) == Status::ok);
  world.blocked = false;
  REQUIRE(world.run());
  REQUIRE(sent(world[1], Kind::data) == (blocked ? 1 : 2));
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
  REQUIRE_FALSE(world[1].neon.origin().merge_notification(0, 7));  // no put left to merge with
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
  // That put stays pending, changes no byte, and can be listed.
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

TEST_CASE("nothing is written of a put that does not fit", "[neon]") {
  const bool early = GENERATE(false, true);
  World world(2, {.seed = 5, .reorder = true, .limits = {.frame = 64}});
  Buffer buffer(200, {1}, 7);
  if (!early) REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  // A put of three frames, and one of two pieces.
  Op long_one, first, second;
  REQUIRE(put(world, long_one, 1, 0, 7, 50, pattern(180, 1), false, true) == Status::ok);
  first.whole_end = second.whole_end = 204;
  REQUIRE(put(world, first, 1, 0, 7, 0, pattern(8, 2), false, true) == Status::ok);
  REQUIRE(put(world, second, 1, 0, 7, 196, pattern(8, 3), true, true) == Status::ok);
  REQUIRE(world.run());
  if (early) REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.result == Status::range);
  REQUIRE(buffer.memory == std::vector<std::byte>(200));
  for (const Op* op : {&long_one, &first, &second}) {
    REQUIRE(op->times == 1);
    REQUIRE(op->result == Status::range);
  }
}

TEST_CASE("an origin that knows the size refuses all pieces of a put or none", "[neon]") {
  World world(2, {});
  Buffer buffer(100000, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  Op large, piece;
  REQUIRE(put(world, large, 1, 0, 7, 0, pattern(100000, 1), false) == Status::ok);
  REQUIRE(world.run());
  piece.whole_end = 100001;
  REQUIRE(put(world, piece, 1, 0, 7, 0, pattern(8, 2)) == Status::range);
  REQUIRE(piece.times == 0);
}

TEST_CASE("a get ends the wait for its announcement unless it is not final", "[neon]") {
  World world(2, {.seed = 3, .reorder = true, .refuse = 0.3});
  Buffer buffer(20000, {1}, 7);
  buffer.memory = pattern(20000, 1);
  buffer.address = buffer.memory.data();
  std::vector<std::byte> some(20000), all(20000);
  Op first, last, next;
  const auto get = [&](Op& op, std::vector<std::byte>& to, bool final) {
    return world[1].neon.origin().get(op, 0, 7, 0, to.data(), to.size(), final);
  };
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(get(first, some, false) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(some == buffer.memory);
  REQUIRE(buffer.times == 0);
  REQUIRE(get(last, all, true) == Status::ok);
  REQUIRE(get(next, some, true) == Status::ok);  // of the next announcement
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(all == buffer.memory);
  REQUIRE(next.times == 0);
  buffer.memory = pattern(20000, 2);
  buffer.address = buffer.memory.data();
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 2);
  REQUIRE(some == buffer.memory);
}

TEST_CASE("a get waits for the announcement and is covered by the notification", "[neon]") {
  World world(2, {.seed = 11, .reorder = true, .refuse = 0.3});
  Buffer buffer(100000, {1}, 7);
  const auto content = pattern(100000, 1);
  buffer.memory = content;
  buffer.address = buffer.memory.data();
  std::vector<std::byte> result(90000), small(8);
  Op get, last, far;
  REQUIRE(world[1].neon.origin().get(get, 0, 7, 5000, result.data(), result.size(), false) ==
          Status::ok);
  REQUIRE(world.run());
  REQUIRE(get.times == 0);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world[1].neon.origin().get(far, 0, 7, 99999, small.data(), 8, false) == Status::ok);
  REQUIRE(notify(world, last, 1, 0, 7) == Status::ok);
  bool changed = false;
  while (!world.frames.empty() || world[0].neon.stalled() || world[1].neon.stalled()) {
    REQUIRE(world.step());
    if (buffer.times == 1 && !changed) {
      changed = true;  // the target may read it from now on
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
  REQUIRE(word.notifications == 500);
  REQUIRE(word.times == 1);
  REQUIRE(world[0].neon.target().withdraw(word));
}

TEST_CASE("notified puts count when all their frames are in place", "[neon]") {
  World world(2, {.seed = 13, .reorder = true, .refuse = 0.2});
  const auto data = pattern(30000, 1);
  Op whole, apart, outside, unknown, get;
  REQUIRE(put_notify(world, whole, 100, data.data(), 20000, {}, 3) == Status::ok);
  for (int i = 0; world[0].slots[3].value() == 0 && i < 100000; ++i) {
    REQUIRE(world.step());
    world[1].neon.pump();
  }
  REQUIRE(std::equal(data.begin(), data.begin() + 20000, world[0].memory.begin() + 100));
  const Run runs[] = {{0, 5000}, {20000, 5000}};
  REQUIRE(put_notify(world, apart, 30000, data.data(), 10000, runs, 4, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(world[0].slots[4].value() == 1);
  REQUIRE(apart.times == 1);
  REQUIRE(std::equal(data.begin(), data.begin() + 5000, world[0].memory.begin() + 30000));
  REQUIRE(std::equal(data.begin() + 5000, data.begin() + 10000, world[0].memory.begin() + 50000));

  REQUIRE(put_notify(world, outside, 60000, data.data(), 10000, {}, 3, true) == Status::ok);
  REQUIRE(put_notify(world, unknown, 0, data.data(), 0, {}, 99, true) == Status::ok);
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

TEST_CASE("generations may wrap around", "[neon]") {
  REQUIRE(reached(0, 0xffffffffu));
  REQUIRE(reached(5, 5));
  REQUIRE_FALSE(reached(0xffffffffu, 0));
  REQUIRE_FALSE(reached(4, 5));
}

}  // namespace lfc::neon
