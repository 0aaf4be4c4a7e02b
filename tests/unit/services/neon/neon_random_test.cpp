// NEON under random delay, reordering, refusals and direct writes. When an announcement completes, all promised bytes
// are there and none of another round. Memory stays bounded.
#include <cstdlib>

#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon::neon_random_test {
namespace {

// The factor to a usual run (scripts/test --nightly sets it).
std::uint64_t effort() {
  const char* text = std::getenv("LFC_TEST_EFFORT");
  return text == nullptr ? 1 : std::max(1ull, std::strtoull(text, nullptr, 10));
}

// One (target, tag). Each origin has its own part of the buffer and fills it anew each round.
struct Exchange {
  Rank target;
  std::vector<Rank> origins;
  std::uint64_t part;
  std::unique_ptr<Buffer> buffer;
  std::uint64_t announced = 0;
  int completed = 0;
  std::vector<std::uint64_t> put;  // rounds that the origin has put, by origin
};

struct Put {
  Op op;
  std::vector<std::byte> data;
};

class Program {
 public:
  Program(const Fabric& fabric, std::size_t ranks, std::uint64_t rounds)
      : world_(ranks, fabric), rounds_(rounds) {
    const std::uint64_t count = 1 + world_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      Exchange each;
      each.target = static_cast<Rank>(world_.below(ranks));
      for (Rank rank = 0; rank < ranks; ++rank)
        if (rank != each.target && (each.origins.empty() || world_.chance(0.5)))
          each.origins.push_back(rank);
      const std::uint64_t sizes[] = {1, 8, 100, 4096, 20000, 70000};
      each.part = sizes[world_.below(6)];
      const std::uint32_t tag =
          world_.chance(0.5) ? static_cast<std::uint32_t>(i) : 1000 + static_cast<std::uint32_t>(i);
      each.buffer = std::make_unique<Buffer>(each.part * each.origins.size(), each.origins, tag);
      each.buffer->token = world_[each.target].expose(*each.buffer);
      each.put.resize(each.origins.size());
      exchanges_.push_back(std::move(each));
    }
  }

  void run() {
    for (std::uint64_t turn = 0; !finished(); ++turn) {
      REQUIRE(turn < 2000000);
      const std::uint64_t what = world_.below(10);
      Exchange& each = exchanges_[world_.below(exchanges_.size())];
      if (what == 0) announce(each);
      if (what == 1) put_round(each, world_.below(each.origins.size()));
      if (what > 1) REQUIRE(world_.step());
      if (what == 2)
        for (std::size_t rank = 0; rank < world_.size(); ++rank) world_[rank].neon.pump();
      if (what == 3) world_[each.target].neon.target().look();
      check(each);
    }
    REQUIRE(world_.run());
    for (const auto& put : puts_) {
      REQUIRE(put->op.times == 1);
      REQUIRE(put->op.result == Status::ok);
    }
    const Limits limits;
    for (std::size_t rank = 0; rank < world_.size(); ++rank) {
      const Statistics& seen = world_[rank].neon.statistics();
      REQUIRE(seen.parked == 0);
      REQUIRE(seen.parked_most <= limits.budget * (world_.size() - 1));
      REQUIRE(seen.overruns == 0);
      REQUIRE(seen.late == 0);
      REQUIRE(world_[rank].neon.target().early().empty());
    }
  }

 private:
  bool finished() const {
    return std::all_of(exchanges_.begin(), exchanges_.end(), [&](const Exchange& each) {
      return each.completed == static_cast<int>(rounds_);
    });
  }
  static std::uint64_t key(const Exchange& each, std::size_t origin, std::uint64_t round) {
    return (each.buffer->tag * 1000 + each.target) * 1000003 + origin * 10007 + round;
  }

  void announce(Exchange& each) {
    if (each.buffer->live || each.announced == rounds_ || each.buffer->times != each.completed)
      return;
    ++each.announced;
    REQUIRE(world_[each.target].neon.target().announce(*each.buffer) == Status::ok);
  }

  void put_round(Exchange& each, std::size_t who) {
    if (each.put[who] == rounds_) return;
    const std::uint64_t round = ++each.put[who];
    const auto data = pattern(each.part, key(each, who, round));
    Origin& origin = world_[each.origins[who]].neon.origin();
    std::uint64_t offset = 0;
    while (offset < each.part) {
      const std::uint64_t left = each.part - offset;
      const std::uint64_t bytes = world_.chance(0.3) ? left : 1 + world_.below(left);
      const bool last = bytes == left;
      const bool apart = last && world_.chance(0.3);  // the notification is a call of its own
      auto put = std::make_unique<Put>();
      put->data.assign(data.begin() + static_cast<std::ptrdiff_t>(offset),
                       data.begin() + static_cast<std::ptrdiff_t>(offset + bytes));
      REQUIRE(origin.put(put->op, each.target, each.buffer->tag, each.part * who + offset,
                         put->data.data(), bytes, last && !apart,
                         world_.chance(0.2)) == Status::ok);
      puts_.push_back(std::move(put));
      offset += bytes;
      if (!apart || origin.merge_notification(each.target, each.buffer->tag)) continue;
      puts_.push_back(std::make_unique<Put>());
      REQUIRE(origin.put(puts_.back()->op, each.target, each.buffer->tag, 0, nullptr, 0, true,
                         false) == Status::ok);
    }
  }

  void check(Exchange& each) {
    if (each.buffer->times == each.completed) return;
    REQUIRE(each.buffer->times == ++each.completed);
    REQUIRE(each.buffer->result == Status::ok);
    for (std::size_t who = 0; who < each.origins.size(); ++who) {
      const auto expected =
          pattern(each.part, key(each, who, static_cast<std::uint64_t>(each.completed)));
      REQUIRE(
          std::equal(expected.begin(), expected.end(),
                     each.buffer->memory.begin() + static_cast<std::ptrdiff_t>(each.part * who)));
    }
    std::fill(each.buffer->memory.begin(), each.buffer->memory.end(), std::byte{0xee});
  }

  World world_;
  const std::uint64_t rounds_;
  std::vector<Exchange> exchanges_;
  std::vector<std::unique_ptr<Put>> puts_;
};

}  // namespace

TEST_CASE("random exchanges match exactly under delay and reordering", "[neon][exhaustive]") {
  const std::uint64_t seeds = 600 * std::min<std::uint64_t>(effort(), 10);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    Fabric fabric;
    fabric.seed = seed;
    fabric.reorder = seed % 3 != 0;
    fabric.refuse = seed % 4 == 0 ? 0.4 : 0;
    fabric.writes = seed % 2 == 0;
    fabric.entries = seed % 5 == 0 ? std::size_t{1} << seed % 3 : 0;
    Program program(fabric, 2 + seed % 4, 5);
    program.run();
  }
}

TEST_CASE("a notification never overtakes its data", "[neon]") {
  // Notified puts of one to three frames, out of order. Each slot counts puts, and count n comes only after n puts are
  // whole. A nightly run makes 10^7 puts.
  const std::uint64_t puts = 100000 * effort();
  Fabric fabric;
  fabric.reorder = true;
  fabric.limits.frame = 64;
  World world(2, fabric);
  constexpr std::size_t kPlaces = 64;
  constexpr std::size_t kRoom = 192;
  struct Place {
    Op op;
    std::vector<std::byte> data = std::vector<std::byte>(kRoom);
    std::vector<Run> runs;
    std::size_t stride = 8;
  };
  std::vector<Place> places(kPlaces);
  world[0].slots.resize(0);
  std::deque<Slot> slots(kPlaces);
  world[0].slots.swap(slots);
  std::vector<std::uint64_t> begun(kPlaces), seen(kPlaces);
  std::uint64_t started = 0, finished = 0;
  while (finished < puts) {
    const std::size_t which = world.below(kPlaces);
    Place& place = places[which];
    if (begun[which] == seen[which] && started < puts) {
      ++started;
      const std::uint64_t number = ++begun[which];
      for (std::size_t i = 0; i < kRoom; i += 8) std::memcpy(&place.data[i], &number, 8);
      // In one piece, or in words that lie 8 or 16 bytes apart.
      place.stride = 8 * (1 + world.below(2));
      const std::size_t size = 8 * (1 + world.below(kRoom / place.stride));
      place.runs.clear();
      if (place.stride > 8 || world.below(2) == 0)
        for (std::size_t at = 0; at < size; at += 8)
          place.runs.push_back({at / 8 * place.stride, 8});
      REQUIRE(put_notify(world, place.op, which * kRoom, place.data.data(), size, place.runs,
                         static_cast<std::uint32_t>(which)) == Status::ok);
    }
    if (!world.step()) FAIL("broken");
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t look = world.below(kPlaces);
      const std::uint64_t count = world[0].slots[look].value();
      if (count == seen[look]) continue;
      if (count != seen[look] + 1) FAIL("slot " << look << " counts " << count);
      seen[look] = count;
      ++finished;
      const std::byte* memory = world[0].memory.data() + look * kRoom;
      for (std::size_t at = 0; at < places[look].op.size; at += 8) {
        std::uint64_t value = 0;
        std::memcpy(&value, memory + at / 8 * places[look].stride, 8);
        if (value != count) FAIL("put " << count << ", byte " << at << " is of put " << value);
      }
    }
  }
  SUCCEED();
}

TEST_CASE("re-announcements with random skew match, and parked memory is bounded", "[neon]") {
  // Eight ranks in a ring. Each may run ahead of its neighbours without limit. A nightly run makes 10^6 rounds.
  const std::uint64_t rounds = 2500 * std::min<std::uint64_t>(effort(), 50);
  constexpr Rank kRanks = 8;
  Fabric fabric;
  fabric.reorder = true;
  fabric.seed = 42;
  World world(kRanks, fabric);
  struct Member {
    std::unique_ptr<Buffer> buffer;
    std::uint64_t announced = 0;
    int completed = 0;
    std::uint64_t put = 0;
    std::deque<std::pair<Op, std::uint64_t>> ops;
  };
  std::vector<Member> ring(kRanks);
  for (Rank rank = 0; rank < kRanks; ++rank)
    ring[rank].buffer = std::make_unique<Buffer>(
        16, std::vector<Rank>{(rank + 1) % kRanks, (rank + 7) % kRanks}, 7);
  std::uint64_t finished = 0;
  while (finished < rounds * kRanks) {
    const auto rank = static_cast<Rank>(world.below(kRanks));
    Member& one = ring[rank];
    const std::uint64_t what = world.below(6);
    if (what == 0 && one.put < rounds && one.put < one.announced + 200) {
      ++one.put;
      for (const Rank to : {(rank + 1) % kRanks, (rank + 7) % kRanks}) {
        auto& [op, value] = one.ops.emplace_back();
        value = one.put;
        const std::uint64_t offset = to == (rank + 1) % kRanks ? 0 : 8;
        if (world[rank].neon.origin().put(op, to, 7, offset, &value, 8, true, false) != Status::ok)
          FAIL("put");
      }
      while (!one.ops.empty() && one.ops.front().first.times == 1) one.ops.pop_front();
    } else if (what == 1 && !one.buffer->live && one.buffer->times == one.completed &&
               one.announced < rounds) {
      ++one.announced;
      if (world[rank].neon.target().announce(*one.buffer) != Status::ok) FAIL("announce");
    } else if (!world.step()) {
      FAIL("broken");
    }
    if (one.buffer->times == one.completed) continue;
    ++one.completed;
    ++finished;
    std::uint64_t values[2];
    std::memcpy(values, one.buffer->memory.data(), 16);
    if (values[0] != static_cast<std::uint64_t>(one.completed) || values[0] != values[1])
      FAIL("round " << one.completed << ": " << values[0] << ", " << values[1]);
  }
  if (!world.run()) FAIL("broken");
  for (Rank rank = 0; rank < kRanks; ++rank) {
    const Statistics& seen = world[rank].neon.statistics();
    REQUIRE(seen.parked == 0);
    REQUIRE(seen.parked_most <= 2 * fabric.limits.budget);
    REQUIRE(world[rank].neon.origin().open((rank + 1) % kRanks) == 0);
  }
}

}  // namespace lfc::neon::neon_random_test
