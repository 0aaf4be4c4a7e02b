// Announced buffers that origins map: puts and gets without a frame, beside frames, withdrawals and losses.
#include "catch.hpp"
#include "neon_world.hpp"
#include "services/neon/mapped_peers.hpp"

namespace lfc::neon {
namespace {

std::uint64_t frames(World& world) {
  std::uint64_t all = 0;
  for (std::size_t rank = 0; rank < world.size(); ++rank)
    all += world[rank].neon.statistics().frames;
  return all;
}

void announce(World& world, Buffer& buffer) {
  REQUIRE(world[0].neon.target().announce(buffer) == Status::ok);
}

// The mapped peers of a window of two ranks, whose frames go nowhere.
struct Peers final : MappedPeers {
  explicit Peers(Rank rank) : MappedPeers(rank, 2) {}
  bool send(Rank, const Header&, std::span<const std::byte>, std::span<const std::byte>) override {
    return true;
  }
};

}  // namespace

TEST_CASE("peers that map each other find entries, and the bytes of a window alone", "[neon]") {
  Peers target(0), origin(1);
  std::vector<std::byte> memory(64);
  const SharedMemoryName names[] = {target.create_entries(), origin.create_entries()};
  for (Peers* each : {&target, &origin})
    for (Rank rank = 0; rank < 2; ++rank) each->map_peer(rank, memory, names[rank]);
  Carrier& there = target;
  Carrier& here = origin;
  REQUIRE(here.entry_of(0, 7) == nullptr);
  MappedEntry* const made = there.own_entry(1, 7);
  MappedEntry* const found = here.entry_of(0, 7);
  REQUIRE(made != nullptr);
  REQUIRE(found != nullptr);
  REQUIRE(found != made);  // the same memory, mapped twice
  made->open(3, {16, 8});
  REQUIRE(found->claim(3));
  REQUIRE(found->buffer().place == 16);
  REQUIRE(here.mapped(0, 16, 8, 40) == memory.data() + 24);
  REQUIRE(here.mapped(0, 16, 8, 41) == nullptr);
  REQUIRE(here.mapped(0, ~std::uint64_t{0}, 8, 8) == nullptr);
  REQUIRE(here.mapped(0, 16, ~std::uint64_t{0}, 8) == nullptr);
  found->release(3, true);
  REQUIRE(made->close(3) == MappedEntry::State::done);
  REQUIRE_FALSE(target.has_ended(1));
  Peers apart(1);  // has no entries, and does without
  apart.map_peer(0, memory, names[0]);
  REQUIRE(static_cast<Carrier&>(apart).mapped(0, 0, 0, 1) == nullptr);
}

TEST_CASE("a put to a mapped window takes no frame, in each generation", "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(64, {1}, 7);
  for (int round = 1; round <= 5; ++round) {
    announce(world, buffer);
    const auto data = pattern(64, static_cast<std::uint64_t>(round));
    const std::vector<std::byte> first(data.begin(), data.begin() + 24),
        last(data.begin() + 24, data.end());
    Op part, op;
    REQUIRE(put(world, part, 1, 0, 7, 0, first, false) == Status::ok);
    REQUIRE(world[0].neon.target().look() == 0);
    REQUIRE(put(world, op, 1, 0, 7, 24, last, true, true) == Status::ok);
    REQUIRE(part.times == 1);
    REQUIRE(op.times == 1);
    REQUIRE(buffer.memory == data);
    REQUIRE(buffer.times == round - 1);
    REQUIRE(world[0].neon.target().look() == 1);
    REQUIRE(buffer.times == round);
    REQUIRE(buffer.result == Status::ok);
    REQUIRE(buffer.notified == std::vector<Rank>{1});
  }
  REQUIRE_FALSE(world[0].neon.target().is_open());
  REQUIRE(frames(world) == 0);
  REQUIRE(world[1].neon.statistics().mapped == 10);
}

TEST_CASE("an entry carries a short final put and the target copies it", "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(64, {1}, 7);
  const std::size_t size = GENERATE(0, 1, 7, 8, 9, 23, 24, 25);
  const bool strong = GENERATE(false, true);
  const bool short_way = GENERATE(false, true);
  const bool carried = size > 0 && size <= MappedEntry::kCarried && !strong;
  Target& target = world[0].neon.target();
  for (int round = 1; round <= 3; ++round) {
    announce(world, buffer);
    const auto before = buffer.memory;
    const auto data = pattern(size, static_cast<std::uint64_t>(round));
    auto after = before;
    std::copy(data.begin(), data.end(), after.begin() + 5);
    Op op;
    if (round == 1 || !short_way) {  // the short way needs a stream
      REQUIRE(put(world, op, 1, 0, 7, 5, data, true, strong) == Status::ok);
      REQUIRE(op.times == 1);
    } else {
      REQUIRE(world[1].neon.origin().put_mapped(0, 7, 5, data.data(), size, true, strong));
    }
    REQUIRE(buffer.memory == (carried ? before : after));
    REQUIRE(target.is_due());
    REQUIRE(target.look() == 1);
    REQUIRE_FALSE(target.is_due());
    REQUIRE(buffer.memory == after);
    REQUIRE(buffer.times == round);
    REQUIRE(buffer.result == Status::ok);
  }
  REQUIRE(frames(world) == 0);
  REQUIRE(world[1].neon.statistics().mapped == 3);
}

TEST_CASE("a carried put is in the buffer when its confirmation leaves or its origin is lost",
          "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(8, {1}, 7);
  announce(world, buffer);
  Op last, confirmed;
  REQUIRE(put(world, last, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
  SECTION("confirmed") {
    REQUIRE(world[1].neon.confirmer().begin(confirmed, 0, 7, 1) == Status::ok);
    while (!world.frames.empty()) REQUIRE(world.step());
    REQUIRE(confirmed.times == 1);
  }
  SECTION("lost") { world[0].neon.on_lost(1); }
  SECTION("withdrawn") { world[0].neon.target().withdraw(buffer); }
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.result == Status::ok);
  REQUIRE(buffer.memory == pattern(8, 1));
}

TEST_CASE("an entry cannot carry bytes beyond the buffer", "[neon]") {
  World world(2, {.entries = 1});
  Buffer buffer(8, {1}, 7);
  buffer.memory.resize(64);
  buffer.address = buffer.memory.data();
  announce(world, buffer);
  // A hostile origin writes to the entry without a look at the buffer's size.
  MappedEntry& entry = world[0].table[0];
  const auto data = pattern(24, 1);
  const std::uint64_t offset = GENERATE(1, 8, 40, ~std::uint64_t{0});
  const std::size_t size = GENERATE(8, 24, 1 << 20);
  REQUIRE(entry.load(1, offset, data.data(), std::min<std::size_t>(size, 24)));
  REQUIRE(entry.carry(1, size));
  REQUIRE(world[0].neon.target().look() == 1);
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.result == Status::range);
  REQUIRE(buffer.memory == std::vector<std::byte>(64));
}

TEST_CASE("a look without a lock finds each notification and each copy that has ended", "[neon]") {
  const std::size_t count = GENERATE(1, 2, 32, 33, 70);
  World world(2, {.writes = true, .entries = 1024});
  Target& target = world[0].neon.target();
  REQUIRE_FALSE(target.is_due());
  std::deque<Buffer> buffers;
  for (std::uint32_t tag = 0; tag < count; ++tag)
    announce(world, buffers.emplace_back(8, std::vector<Rank>{1}, tag));
  REQUIRE(target.is_due() == (count > 32));
  for (std::uint32_t left = static_cast<std::uint32_t>(count); left > 0; --left) {
    Op op;
    const auto tag = static_cast<std::uint32_t>(world.below(count));
    if (buffers[tag].times > 0) {
      ++left;
      continue;
    }
    REQUIRE(put(world, op, 1, 0, tag, 0, pattern(8, tag)) == Status::ok);
    while (buffers[tag].times == 0) {
      REQUIRE(target.is_due());
      target.look();
    }
    REQUIRE(buffers[tag].memory == pattern(8, tag));
  }
  REQUIRE_FALSE(target.is_due());
  Buffer large(200000, {1}, 7);
  announce(world, large);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, pattern(200000, 1), false) == Status::ok);
  REQUIRE_FALSE(target.is_due());
  REQUIRE(target.withdraw(large));
  REQUIRE(target.is_due());
  REQUIRE(world.run());
  REQUIRE_FALSE(target.is_due());
  REQUIRE(large.unheard == 0);
}

TEST_CASE("a get of a mapped buffer takes no frame", "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(64, {1}, 7);
  buffer.memory = pattern(64, 9);
  buffer.address = buffer.memory.data();
  announce(world, buffer);
  std::vector<std::byte> result(16);
  Op get, last;
  REQUIRE(world[1].neon.origin().get(get, 0, 7, 8, result.data(), 16, false) == Status::ok);
  REQUIRE(get.times == 1);
  REQUIRE(std::equal(result.begin(), result.end(), buffer.memory.begin() + 8));
  REQUIRE(notify(world, last, 1, 0, 7) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(frames(world) == 0);
}

TEST_CASE("a generation that has begun by frames ends by frames", "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(16, {1}, 7);
  const auto data = pattern(16, 1);
  const std::vector<std::byte> first(data.begin(), data.begin() + 8),
      last(data.begin() + 8, data.end());
  Op early, op, next;
  REQUIRE(put(world, early, 1, 0, 7, 0, first, false) == Status::ok);
  const bool parked = GENERATE(false, true);  // when the announcement is made
  if (parked) REQUIRE(world.run());
  announce(world, buffer);
  REQUIRE(put(world, op, 1, 0, 7, 8, last) == Status::ok);
  REQUIRE(sent(world[1], Kind::data) == 2);
  REQUIRE(world[0].neon.target().look() == 0);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.memory == data);
  announce(world, buffer);
  REQUIRE(put(world, next, 1, 0, 7, 0, data) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 2);
  REQUIRE(sent(world[1], Kind::data) == 2);
  REQUIRE(world[1].neon.statistics().mapped == 1);
}

TEST_CASE("an early large put to a mapped window requests its own announcement alone", "[neon]") {
  World world(2, {.writes = true, .entries = 8});
  Buffer buffer(200000, {1}, 7);
  buffer.token = world[0].expose(buffer);
  const auto data = pattern(200000, 3);
  Op early;
  REQUIRE(put(world, early, 1, 0, 7, 0, data) == Status::ok);
  announce(world, buffer);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(sent(world[0], Kind::grant) == 1);
  const std::uint64_t before = frames(world);
  for (int round = 2; round <= 6; ++round) {
    announce(world, buffer);
    Op op;
    REQUIRE(put(world, op, 1, 0, 7, 0, data) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(op.times == 1);
    REQUIRE(buffer.times == round);
    REQUIRE(buffer.memory == data);
  }
  REQUIRE(frames(world) == before);
}

TEST_CASE("puts into a mapped buffer are confirmed, and wait for nothing but the announcement",
          "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(8, {1}, 7);
  announce(world, buffer);
  Op part, last, first_confirmed, all_confirmed;
  REQUIRE(put(world, part, 1, 0, 7, 0, pattern(4, 1), false) == Status::ok);
  REQUIRE(world[1].neon.confirmer().begin(first_confirmed, 0, 7, 1) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(first_confirmed.times == 1);
  REQUIRE(put(world, last, 1, 0, 7, 4, pattern(4, 2)) == Status::ok);
  REQUIRE(world[1].neon.confirmer().begin(all_confirmed, 0, 7, 1) == Status::ok);
  while (!world.frames.empty()) REQUIRE(world.step());  // the target does not look
  REQUIRE(all_confirmed.times == 1);
  REQUIRE(all_confirmed.result == Status::ok);
  REQUIRE(buffer.times == 1);
}

TEST_CASE("origins of one announcement may use entries and frames", "[neon]") {
  World world(4, {.entries = 8});
  world[2].maps = false;
  Buffer buffer(24, {1, 2, 3}, 7);
  for (int round = 1; round <= 3; ++round) {
    announce(world, buffer);
    for (Rank rank = 1; rank <= 3; ++rank) {
      Op op;
      REQUIRE(put(world, op, rank, 0, 7, 8 * (rank - 1), pattern(8, rank)) == Status::ok);
    }
    REQUIRE(world.run());
    REQUIRE(buffer.times == round);
    REQUIRE(buffer.notified.size() == 3);
  }
  REQUIRE(frames(world) == 3);
}

TEST_CASE("tags beyond the table, and persistent announcements, use frames", "[neon]") {
  World world(2, {.entries = 1});
  Buffer first(8, {1}, 7), second(8, {1}, 8), persistent(8, {1}, 9);
  persistent.persistent = true;
  for (Buffer* each : {&first, &second, &persistent}) announce(world, *each);
  for (Buffer* each : {&first, &second, &persistent}) {
    Op op;
    REQUIRE(put(world, op, 1, 0, each->tag, 0, pattern(8, each->tag)) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(each->times == 1);
    REQUIRE(each->memory == pattern(8, each->tag));
    REQUIRE(frames(world) == each->tag - 7);
  }
  REQUIRE(persistent.notifications == 1);
}

TEST_CASE("a mapped buffer that is withdrawn takes nothing more, and generations stay in step",
          "[neon]") {
  World world(2, {.entries = 8});
  Buffer old(8, {1}, 7), next(8, {1}, 7);
  announce(world, old);
  const bool begun = GENERATE(false, true);
  Op part, late, good;
  if (begun) REQUIRE(put(world, part, 1, 0, 7, 0, pattern(4, 1), false) == Status::ok);
  const auto kept = old.memory;
  REQUIRE(world[0].neon.target().withdraw(old));
  REQUIRE(old.unheard == 0);
  announce(world, next);
  REQUIRE(put(world, late, 1, 0, 7, 0, pattern(8, 2)) == Status::ok);  // belongs to the old one
  REQUIRE(put(world, good, 1, 0, 7, 0, pattern(8, 3)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(old.memory == kept);
  REQUIRE(old.times == 0);
  REQUIRE(next.times == 1);
  REQUIRE(next.memory == pattern(8, 3));
  REQUIRE(world[0].neon.statistics().late == 1);
  REQUIRE(sent(world[1], Kind::data) == 1);
}

TEST_CASE("a final put that came before the withdrawal counts", "[neon]") {
  World world(3, {.entries = 8});
  Buffer alone(8, {1}, 7), both(8, {1, 2}, 8);
  for (Buffer* each : {&alone, &both}) {
    announce(world, *each);
    Op op;
    REQUIRE(put(world, op, 1, 0, each->tag, 0, pattern(8, 1)) == Status::ok);
    world[0].neon.target().withdraw(*each);
  }
  REQUIRE(alone.times == 1);
  REQUIRE(alone.result == Status::ok);
  REQUIRE(both.times == 0);
  REQUIRE(both.notified == std::vector<Rank>{1});
  REQUIRE(world[0].neon.target().announce(both) == Status::ok);  // the tag is free
}

TEST_CASE("a withdrawal waits for a copy that runs, or for the loss of its origin", "[neon]") {
  World world(2, {.writes = true, .entries = 8});
  Buffer buffer(200000, {1}, 7);
  announce(world, buffer);
  const bool final = GENERATE(false, true);
  Op op;
  REQUIRE(put(world, op, 1, 0, 7, 0, pattern(200000, 1), final) == Status::ok);
  REQUIRE(op.times == 0);
  world[0].neon.target().look();
  REQUIRE(world[0].neon.target().withdraw(buffer));
  REQUIRE(buffer.unheard == 1);
  REQUIRE(world[0].neon.target().announce(buffer) == Status::busy);
  world[0].neon.target().look();
  REQUIRE(buffer.unheard == 1);
  SECTION("it ends") {
    REQUIRE(world.run());
    REQUIRE(op.times == 1);
    world[0].neon.target().look();
  }
  SECTION("its origin is lost") { world[0].neon.on_lost(1); }
  REQUIRE(buffer.unheard == 0);
  REQUIRE_FALSE(world[0].neon.target().is_open());
  REQUIRE(buffer.times == 0);
}

TEST_CASE("a buffer that is announced between two pieces of a put refuses the put as a whole",
          "[neon]") {
  World world(2, {.entries = 8});
  Buffer buffer(64, {1}, 7);
  Op first, second;
  first.whole_end = second.whole_end = 72;
  second.continues = true;
  REQUIRE(put(world, first, 1, 0, 7, 0, pattern(8, 1), false) == Status::ok);
  announce(world, buffer);  // before the frame of the first piece arrives
  REQUIRE(put(world, second, 1, 0, 7, 64, pattern(8, 2)) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(buffer.times == 1);
  REQUIRE(buffer.result == Status::range);
  REQUIRE(buffer.memory == std::vector<std::byte>(64));
}

TEST_CASE("a lost origin that has notified by an entry counts as one that has", "[neon]") {
  World world(2, {.entries = 8});
  Buffer notified(8, {1}, 7), unfinished(8, {1}, 8);
  announce(world, notified);
  announce(world, unfinished);
  REQUIRE(world[0].neon.target().open_origins() == std::vector<Rank>{1, 1});
  Op op, part;
  REQUIRE(put(world, op, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);
  REQUIRE(put(world, part, 1, 0, 8, 0, pattern(8, 1), false) == Status::ok);
  world[0].neon.on_lost(1);
  REQUIRE(notified.times == 1);
  REQUIRE(notified.result == Status::ok);
  REQUIRE(unfinished.times == 1);
  REQUIRE(unfinished.result == Status::unreachable);
  REQUIRE_FALSE(world[0].neon.target().is_open());
}

TEST_CASE("nothing is written outside a mapped buffer, for any contents of its entry", "[neon]") {
  World world(2, {.entries = 1});
  Buffer buffer(8, {1}, 7);
  buffer.memory.resize(16);
  buffer.address = buffer.memory.data();
  announce(world, buffer);
  Op op, next;
  SECTION("a put beyond the buffer") {
    REQUIRE(put(world, op, 1, 0, 7, 4, pattern(8, 1)) == Status::range);
    REQUIRE(op.times == 0);
    REQUIRE_FALSE(world[1].neon.origin().put_mapped(0, 7, 4, pattern(8, 1).data(), 8, true, false));
    REQUIRE(buffer.memory == std::vector<std::byte>(16));
    REQUIRE(put(world, next, 1, 0, 7, 0, pattern(8, 1)) == Status::ok);  // the generation stays
    REQUIRE(world.run());
    REQUIRE(frames(world) == 0);
  }
  SECTION("an entry with a place outside the window") {
    world[0].largest = 7;
    REQUIRE(put(world, op, 1, 0, 7, 0, pattern(8, 1), true, true) == Status::ok);
    REQUIRE(world.run());
    REQUIRE(sent(world[1], Kind::data) == 1);
    REQUIRE(std::memcmp(buffer.memory.data(), pattern(8, 1).data(), 8) == 0);
    REQUIRE(buffer.result == Status::ok);
  }
  REQUIRE(buffer.live == false);
}

}  // namespace lfc::neon
