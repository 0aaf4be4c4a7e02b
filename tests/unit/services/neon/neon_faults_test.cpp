// Faults: withdrawn buffers, bytes outside a buffer, and peers that are lost or violate the protocol.
#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon {

TEST_CASE("memory outside the announced buffer is never written", "[neon]") {
  World world(2, {.writes = true});
  Buffer buffer(100, {1}, 7);
  buffer.memory.resize(200000);  // with guards behind it
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
    // Now the origin has the size before it begins: no frame is sent, and the generation stays.
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
  // A put that waits for it is notified.
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

TEST_CASE("an origin that knows the address of a buffer is notified of its withdrawal", "[neon]") {
  World world(2, {.writes = true});
  Buffer old(100000, {1}, 7), next(100000, {1}, 7);
  old.token = world[0].expose(old);
  next.token = world[0].expose(next);
  const auto data = pattern(100000, 1), good = pattern(100000, 2);
  Op first, late, fresh;
  REQUIRE(world[0].neon.target().announce(old) == Status::ok);
  REQUIRE(put(world, first, 1, 0, 7, 0, data, false) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(old.memory == data);
  REQUIRE(world[0].neon.target().withdraw(old));
  REQUIRE(world.run());
  old.memory.assign(100000, std::byte{9});  // the memory is the owner's again
  REQUIRE(put(world, late, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(late.times == 1);
  REQUIRE(late.result == Status::withdrawn);
  REQUIRE(old.memory == std::vector<std::byte>(100000, std::byte{9}));
  REQUIRE(world[0].neon.target().announce(next) == Status::ok);
  REQUIRE(put(world, fresh, 1, 0, 7, 0, good) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(next.times == 1);
  REQUIRE(next.memory == good);
}

TEST_CASE("a withdrawn buffer is its owner's when no origin writes to it any more", "[neon]") {
  World world(3, {.writes = true});
  Buffer buffer(100000, {1, 2}, 7), next(100000, {1}, 7);
  buffer.token = world[0].expose(buffer);
  const auto data = pattern(100000, 1);
  Op before[2], under_way, ahead;
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  for (const Rank origin : {1u, 2u})
    REQUIRE(put(world, before[origin - 1], origin, 0, 7, 0, data, false) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(put(world, under_way, 1, 0, 7, 0, data, false) == Status::ok);
  REQUIRE(world.writes.size() == 1);
  REQUIRE(world[0].neon.target().withdraw(buffer));
  REQUIRE(buffer.unheard == 2);
  REQUIRE(world[0].neon.target().announce(next) == Status::busy);
  const World::Write write = world.writes.front();
  world.writes.clear();
  REQUIRE(world.run());  // both receive the notice, and one has a write under way
  REQUIRE(buffer.unheard == 1);
  REQUIRE(put(world, ahead, 1, 0, 7, 0, data, false) == Status::ok);
  REQUIRE(ahead.result == Status::withdrawn);
  REQUIRE(world.writes.empty());
  world.writes.push_back(write);
  REQUIRE(world.run());
  REQUIRE(buffer.unheard == 0);
  REQUIRE(world[0].neon.target().announce(next) == Status::ok);
  // No notice was sent twice.
  REQUIRE_FALSE(
      world[0].neon.on_frame(1, {.kind = Kind::recalled, .tag = 7, .generation = 1}, nullptr, 0));
}

TEST_CASE("a lost origin keeps no withdrawn buffer", "[neon]") {
  World world(2, {.writes = true});
  Buffer buffer(100000, {1}, 7);
  buffer.token = world[0].expose(buffer);
  Op op;
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(put(world, op, 1, 0, 7, 0, pattern(100000, 1), false) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(world[0].neon.target().withdraw(buffer));
  REQUIRE(buffer.unheard == 1);
  world[0].neon.on_lost(1);
  REQUIRE(buffer.unheard == 0);
}

TEST_CASE("each round may have a tag of its own", "[neon]") {
  World world(2, {});
  for (std::uint32_t tag = 0; tag < kMaxTags + 10; ++tag) {
    Buffer buffer(8, {1}, tag);
    Op op;
    REQUIRE(put(world, op, 1, 0, tag, 0, pattern(8, 1)) == Status::ok);
    REQUIRE(world.run());  // early
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(buffer.times == 1);
  }
}

TEST_CASE("a withdrawn buffer serves no get", "[neon]") {
  World world(2, {});
  Buffer buffer(100000, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  std::vector<std::byte> result(90000);
  Op get;
  REQUIRE(world[1].neon.origin().get(get, 0, 7, 0, result.data(), result.size(), false) ==
          Status::ok);
  world.blocked = true;
  REQUIRE(world.step());  // the answer finds no room
  REQUIRE(world[0].neon.target().withdraw(buffer));
  buffer.memory = {};
  world.blocked = false;
  REQUIRE(world.run());
  REQUIRE(get.times == 1);
  REQUIRE(get.result == Status::withdrawn);
}

TEST_CASE("an answer that comes after the end of its generation does not count", "[neon]") {
  World world(2, {});
  Neon& neon = world[0].neon;
  Buffer buffer(64, {1}, 7);
  REQUIRE(neon.target().announce(buffer) == Status::ok);
  world.blocked = true;
  Header get;
  get.kind = Kind::get;
  get.flags = kFinal;
  get.count = 1;
  get.tag = 7;
  get.generation = 1;
  get.extra = 8;
  get.id = 1;
  REQUIRE(neon.on_frame(1, get, nullptr, 0));  // its answer finds no room
  Header data = get;
  data.kind = Kind::data;
  data.flags = kFinal;
  data.count = 1;
  data.extra = 0;
  REQUIRE(neon.on_frame(1, data, nullptr, 0));  // two frames have number 1
  REQUIRE(buffer.times == 1);
  world.blocked = false;
  neon.pump();
  REQUIRE(sent(world[0], Kind::reply) == 1);
  REQUIRE(buffer.times == 1);
}

TEST_CASE("a lost peer ends all operations that wait for it", "[neon]") {
  World world(3, {.writes = true});
  Buffer theirs(8, {1}, 7), both(8, {1, 2}, 8);
  REQUIRE(world[0].neon.target().announce(theirs) == Status::ok);
  REQUIRE(world[0].neon.target().announce(both) == Status::ok);
  const auto data = pattern(100000, 1);
  std::vector<std::byte> result(8);
  Op large, get, strong, ours, after;
  REQUIRE(put(world, large, 0, 1, 7, 0, data) == Status::ok);
  REQUIRE(world[0].neon.origin().get(get, 1, 9, 0, result.data(), 8, false) == Status::ok);
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

TEST_CASE("a member that is lost before its first use is unreachable", "[neon]") {
  World world(3, {});
  Buffer buffer(8, {1, 2}, 7);
  Op op;
  world[0].neon.on_lost(1);
  REQUIRE(put(world, op, 0, 1, 7, 0, std::vector<std::byte>(8)) == Status::unreachable);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::unreachable);
  REQUIRE(world[0].neon.origin().open(1) == 0);
  Header header;
  header.kind = Kind::data;  // of another member it would be malformed
  REQUIRE_FALSE(world[0].neon.on_frame(2, header, nullptr, 0));
  REQUIRE(world[0].neon.on_frame(1, header, nullptr, 0));
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
  CHECK(refused(data, 8));  // early, but not charged
  data.generation = 0;
  CHECK(refused(data, 8));  // of an earlier round
  data.generation = 1;
  data.flags = kFinal;
  data.count = 0;
  CHECK(refused(data, 8));
  Header other;
  other.kind = Kind::reply;
  CHECK(refused(other, 0));
  other.kind = Kind::delivered;
  other.id = 12345;
  CHECK(refused(other, 0));
  other.kind = Kind::grant;
  CHECK(refused(other, 0));  // no request
  CHECK(refused(other, Token::kRoom + 1));
  other.kind = Kind::refund;
  other.refund = 1;
  CHECK(refused(other, 0));  // no byte was charged
  CHECK(!neon.on_frame(2, Header{}, nullptr, 0));
  // More early data than the budget allows.
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
  CHECK(buffer.notifications == 1);
  CHECK(neon.target().early().empty());
}

}  // namespace lfc::neon
