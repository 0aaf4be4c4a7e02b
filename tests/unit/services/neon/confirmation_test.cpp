// Requests to confirm that puts are in the target's buffer, and the frames by which the target knows that.
#include <numeric>
#include <set>

#include "catch.hpp"
#include "neon_world.hpp"
#include "services/neon/protocol/arrivals.hpp"

namespace lfc::neon {
namespace {

// By rank 1, of a put to (rank 0, tag 7).
Status confirm(World& world, Op& op, std::uint32_t generation) {
  return world[1].neon.confirmer().begin(op, 0, 7, generation);
}

}  // namespace

TEST_CASE("arrivals know which frames are in place, in any order", "[neon]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint32_t> numbers(1 + random() % 40);
    std::iota(numbers.begin(), numbers.end(), 1);
    std::shuffle(numbers.begin(), numbers.end(), random);
    Arrivals arrivals;
    std::set<std::uint32_t> seen;
    REQUIRE_FALSE(arrivals.add(0));
    for (const std::uint32_t number : numbers) {
      REQUIRE(arrivals.add(number));
      REQUIRE_FALSE(arrivals.add(number));
      seen.insert(number);
      std::uint32_t whole = 0;
      while (seen.count(whole + 1) != 0) ++whole;
      REQUIRE(arrivals.whole() == whole);
      REQUIRE(arrivals.last() == *seen.rbegin());
    }
    for (const std::uint32_t number : numbers) REQUIRE_FALSE(arrivals.add(number));
  }
}

TEST_CASE("arrivals take bounded memory", "[neon]") {
  Arrivals arrivals;
  for (std::uint32_t i = 1; i <= kMaxGaps; ++i) REQUIRE(arrivals.add(2 * i));
  REQUIRE_FALSE(arrivals.add(2 * kMaxGaps + 2));
  REQUIRE(arrivals.add(1));
  REQUIRE(arrivals.whole() == 2);
}

TEST_CASE("a put is confirmed when it is announced and in the buffer", "[neon]") {
  const bool final = GENERATE(false, true);
  World world(2, {});
  Op first, second, there, all;
  REQUIRE(put(world, first, 1, 0, 7, 0, pattern(100, 1), final) == Status::ok);
  REQUIRE(put(world, second, 1, 0, 7, 0, pattern(50, 2)) == Status::ok);
  REQUIRE(confirm(world, there, 1) == Status::ok);
  REQUIRE(confirm(world, all, final ? 2 : 1) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(first.times + second.times == 2);
  REQUIRE(there.times + all.times == 0);
  Buffer buffer(100, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(there.times == 1);
  REQUIRE(there.result == Status::ok);
  REQUIRE(all.times == (final ? 0 : 1));
  if (final) REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(all.times == 1);
  // The generation is over.
  Op late;
  REQUIRE(confirm(world, late, 1) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(late.times == 1);
  REQUIRE(late.result == Status::ok);
}

TEST_CASE("no confirmation overtakes the data that it confirms", "[neon]") {
  constexpr std::size_t kSlots = 40;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    World world(2, {.seed = seed,
                    .reorder = true,
                    .refuse = seed % 3 == 0 ? 0.3 : 0,
                    .writes = seed % 2 == 0,
                    .limits = {.frame = 64, .eager = 128, .budget = 1 << 16}});
    Buffer buffer(kSlots * 200, {1}, 7);
    buffer.token = world[0].expose(buffer);
    std::deque<Op> puts;
    std::deque<std::pair<Op, std::size_t>> confirmed;  // and the number of puts before it
    std::size_t checked = 0;
    while (puts.size() < kSlots || checked < confirmed.size() || buffer.times == 0) {
      const std::uint64_t what = world.below(6);
      if (what == 0 && puts.size() < kSlots) {
        const std::uint64_t size = 1 + world.below(200);
        const std::uint64_t offset = 200 * puts.size();
        Op& op = puts.emplace_back();
        REQUIRE(put(world, op, 1, 0, 7, offset, pattern(size, offset + 1), puts.size() == kSlots) ==
                Status::ok);
      } else if (what == 1 && confirmed.size() < 100 && !puts.empty() && puts.back().times == 1) {
        auto& [op, count] = confirmed.emplace_back();
        count = puts.size();
        const Status status = confirm(world, op, 1);
        REQUIRE((status == Status::ok || (status == Status::busy && !world.writes.empty())));
        if (status == Status::busy) confirmed.pop_back();
      } else if (what == 2 && !buffer.live && buffer.times == 0 && world.chance(0.1)) {
        REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
      } else {
        REQUIRE(world.step());
        for (std::size_t rank = 0; rank < 2; ++rank) world[rank].neon.pump();
      }
      for (; checked < confirmed.size() && confirmed[checked].first.times == 1; ++checked) {
        REQUIRE(confirmed[checked].first.result == Status::ok);
        for (std::size_t i = 0; i < confirmed[checked].second; ++i) {
          const auto begin = buffer.memory.begin() + static_cast<std::ptrdiff_t>(200 * i);
          REQUIRE(std::equal(puts[i].kept.begin(), puts[i].kept.end(), begin));
        }
      }
    }
  }
}

TEST_CASE("a confirmation fails if its put was withdrawn or did not fit", "[neon]") {
  World world(2, {});
  Buffer buffer(64, {1}, 7);
  Op waits, before, discarded, after, too_long, failed, fits, good;
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(put(world, before, 1, 0, 7, 0, pattern(8, 1), false) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(put(world, discarded, 1, 0, 7, 0, pattern(8, 2)) == Status::ok);
  REQUIRE(confirm(world, waits, 1) == Status::ok);
  world.frames.pop_front();  // the last frame is late: the request waits
  REQUIRE(world.run());
  REQUIRE(waits.times == 0);
  REQUIRE(world[0].neon.target().withdraw(buffer));
  REQUIRE(world.run());
  REQUIRE(waits.times == 1);
  REQUIRE(waits.result == Status::withdrawn);
  REQUIRE(confirm(world, after, 1) == Status::ok);
  REQUIRE(put(world, too_long, 1, 0, 7, 0, pattern(65, 3)) == Status::ok);
  REQUIRE(put(world, fits, 1, 0, 7, 0, pattern(64, 4)) == Status::ok);
  REQUIRE(confirm(world, failed, 2) == Status::ok);
  REQUIRE(confirm(world, good, 3) == Status::ok);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
    REQUIRE(world.run());
  }
  REQUIRE(after.result == Status::withdrawn);
  REQUIRE(failed.result == Status::range);
  REQUIRE(good.result == Status::ok);
  REQUIRE(after.times + failed.times + good.times == 3);
}

TEST_CASE("a confirmation ends with an error when its target is lost", "[neon]") {
  World world(2, {});
  Op early, waits, late;
  REQUIRE(put(world, early, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
  REQUIRE(confirm(world, waits, 1) == Status::ok);
  REQUIRE(world.run());
  world[1].neon.on_lost(0);
  REQUIRE(waits.times == 1);
  REQUIRE(waits.result == Status::unreachable);
  REQUIRE(confirm(world, late, 1) == Status::unreachable);
  world[0].neon.on_lost(1);
}

TEST_CASE("confirmations that wait take bounded memory", "[neon]") {
  World world(2, {});
  Op early, more;
  REQUIRE(put(world, early, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
  std::deque<Op> waits(kMaxConfirmations);
  for (Op& each : waits) REQUIRE(confirm(world, each, 1) == Status::ok);
  REQUIRE(confirm(world, more, 1) == Status::busy);
  const Header request = world.frames.back().header;
  while (!world.frames.empty())
    if (!world.step()) FAIL("an honest origin is rejected");
  REQUIRE_FALSE(world[0].neon.on_frame(1, request, nullptr, 0));
  Buffer buffer(8, {1}, 7);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(confirm(world, more, 1) == Status::ok);
}

TEST_CASE("a frame examines only the requests that it satisfies and one more", "[neon]") {
  Confirmations confirmations;
  Header request;
  request.kind = Kind::confirm;
  request.tag = 7;
  request.generation = 1;
  const auto add = [&](std::uint32_t frames, std::uint8_t flags) {
    request.count = frames;
    request.flags = flags;
    ++request.id;
    return confirmations.add(request);
  };
  std::uint64_t added = 0;
  for (; added < 100; ++added) REQUIRE(add(100 - static_cast<std::uint32_t>(added), 0));
  for (; added < kMaxConfirmations - 1; ++added) REQUIRE(add(5000, kFinal));  // no frame comes
  request.generation = 2;
  REQUIRE(add(1, 0));
  std::uint64_t taken = 0;
  const auto take = [&](std::uint32_t generation, std::uint32_t arrived) {
    return confirmations.take(7, generation, arrived, [&](std::uint64_t) { ++taken; });
  };
  for (std::uint32_t frame = 1; frame <= 4999; ++frame) {
    const std::uint64_t before = taken;
    REQUIRE(take(1, frame) == (frame <= 100 ? 2 : 1));
    REQUIRE(taken - before == (frame <= 100 ? 1 : 0));
  }
  CHECK(take(1, kAllFrames) == kMaxConfirmations - 100);
  CHECK(take(2, kAllFrames) == 1);
  CHECK(taken == kMaxConfirmations);
  CHECK(confirmations.empty());
  CHECK(take(2, kAllFrames) == 0);
}

TEST_CASE("no generation that failed is confirmed, however many others failed later", "[neon]") {
  const std::uint32_t first = GENERATE(1u, 0xffffffc0u);  // wraps around
  constexpr std::uint32_t kMany = 200;
  Confirmations confirmations;
  for (std::uint32_t i = 0; i < kMany; ++i)
    confirmations.note_failure(7, first + i, kFailed | kOverrun);
  for (std::uint32_t i = 0; i < kMany; ++i) CHECK(confirmations.failure(7, first + i) != 0);
  CHECK(confirmations.failure(7, first + kMany) == 0);
  CHECK(confirmations.failure(8, first) == 0);
  // The memory of old failures ends before their numbers come again.
  for (std::uint32_t i = 1; i <= 4; ++i)
    CHECK(confirmations.failure(7, first + kMany + (i << 29)) == 0);
}

}  // namespace lfc::neon
