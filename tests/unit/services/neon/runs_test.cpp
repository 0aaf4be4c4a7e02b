// Runs: notified puts to several places. How many frames they need, where their bytes go, and forged frames.
#include "services/neon/protocol/runs.hpp"

#include <limits>

#include "catch.hpp"
#include "neon_world.hpp"

namespace lfc::neon {
namespace {

// `count` runs of `size` bytes, each `stride` bytes behind the last one.
std::vector<Run> vector_of(std::size_t count, std::uint64_t size, std::uint64_t stride) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back({i * stride, size});
  return runs;
}

std::uint64_t frames_with_data(World::Node& node) {
  return sent(node, Kind::put_notify) + sent(node, Kind::put_runs);
}

// Puts the runs, and requires that exactly their bytes of the window change. Returns the number of frames.
std::uint64_t put_and_check(World& world, const std::vector<Run>& runs, std::uint64_t at) {
  std::uint64_t size = 0;
  for (const Run& run : runs) size += run.size;
  const auto data = pattern(size, size);
  std::vector<std::byte> wanted = world[0].memory;
  std::size_t from = 0;
  for (const Run& run : runs) {
    std::memcpy(wanted.data() + at + run.within, data.data() + from, run.size);
    from += run.size;
  }
  const std::uint64_t frames = frames_with_data(world[1]);
  const std::uint64_t count = world[0].slots[2].value();
  Op op;
  REQUIRE(put_notify(world, op, at, data.data(), size, runs, 2) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.times == 1);
  REQUIRE(world[0].slots[2].value() == count + 1);
  REQUIRE(world[0].memory == wanted);
  return frames_with_data(world[1]) - frames;
}

}  // namespace

TEST_CASE("a notified put to a vector is one frame", "[neon]") {
  World world(2, {.seed = 3, .reorder = true});
  REQUIRE(put_and_check(world, vector_of(100, 8, 24), 160) == 1);
  REQUIRE(sent(world[1], Kind::put_runs) == 1);
  REQUIRE(put_and_check(world, {{300, 7}, {0, 1}, {150, 90}}, 40) == 1);  // in any order
  REQUIRE(put_and_check(world, vector_of(1, 50, 50), 7) == 1);
}

TEST_CASE("a notified put to a vector needs a frame more only when one is full", "[neon]") {
  World world(2, {.seed = 5, .reorder = true, .refuse = 0.3});
  // 4,096 bytes hold 256 runs of 8 bytes, each with 8 bytes that name its place.
  REQUIRE(put_and_check(world, vector_of(256, 8, 16), 0) == 1);
  REQUIRE(put_and_check(world, vector_of(257, 8, 16), 0) == 2);
  REQUIRE(put_and_check(world, vector_of(3000, 8, 16), 0) == 12);
  REQUIRE(put_and_check(world, vector_of(6, 3000, 4000), 0) == 5);
  REQUIRE(put_and_check(world, vector_of(3, 9000, 9001), 1) == 7);
}

TEST_CASE("frames with runs are not built for targets that have no room", "[neon]") {
  constexpr std::size_t kTargets = 32;
  World world(1 + kTargets, {});
  constexpr auto kRuns = static_cast<std::size_t>(Kind::put_runs);
  const std::vector<Run> runs = vector_of(600, 8, 16);  // three frames
  const auto data = pattern(600 * 8, 1);
  std::vector<Op> ops(kTargets);
  Neon& neon = world[0].neon;
  world.blocked = true;
  for (std::size_t i = 0; i < kTargets; ++i)
    REQUIRE(neon.origin().put_notify(ops[i], static_cast<Rank>(1 + i), 0, data.data(), data.size(),
                                     runs, 2, false) == Status::ok);
  for (int pass = 0; pass < 100; ++pass) REQUIRE(neon.pump());  // all still wait
  REQUIRE(world[0].offered[kRuns] == 0);
  world.blocked = false;
  REQUIRE(world.run());
  REQUIRE(world[0].offered[kRuns] == 3 * kTargets);
  for (std::size_t i = 0; i < kTargets; ++i) {
    REQUIRE(ops[i].times == 1);
    REQUIRE(world[1 + i].slots[2].value() == 1);
  }
}

TEST_CASE("runs of all sizes around a frame's fit, and no aligned word is cut", "[neon]") {
  for (std::uint32_t room = 64; room <= 192; room += 64) {
    Fabric fabric;
    fabric.limits.frame = room;
    World world(2, fabric);
    for (std::uint64_t size = 1; size <= 2 * room + 9; ++size) {
      const std::vector<Run> runs = vector_of(4, size, size + 3);
      (void)put_and_check(world, runs, 5);
      for (RunPosition at; at.index < runs.size();) {
        const Portion portion = next_portion(runs, at, room);
        REQUIRE(portion.bytes > 0);
        REQUIRE(portion.payload() <= room);
        REQUIRE(portion.end.moved % 8 == 0);
        at = portion.end;
      }
    }
  }
}

TEST_CASE("runs arrive in frames whose size is no multiple of a word", "[neon]") {
  for (const std::uint32_t room : {65u, 100u, 999u, 4095u}) {
    World world(2, {.seed = room, .reorder = true, .limits = {.frame = room}});
    REQUIRE(put_and_check(world, vector_of(700, 8, 24), 3) == (700 + room / 16 - 1) / (room / 16));
    REQUIRE(put_and_check(world, vector_of(1, 20000, 20000), 1) == (20000 + room - 1) / room);
    (void)put_and_check(world, vector_of(5, room, room + 1), 0);
    (void)put_and_check(world, vector_of(5, 3 * room + 1, 3 * room + 5), 8);
    (void)put_and_check(world, {{5000, 2 * room}, {0, 7}, {300, room - 8}}, 40);
  }
}

TEST_CASE("the frames of runs are counted as they are sent, also those of a large run", "[neon]") {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 60;  // counted one by one, it takes days
  REQUIRE(count_portions(vector_of(1, kLarge, kLarge), 4096) == kLarge / 4096);
  REQUIRE(count_portions(vector_of(2, kLarge + 8, kLarge + 8), 4096) == 2 * (kLarge / 4096) + 1);
  for (std::uint64_t size = 1; size <= 400; ++size) {
    const std::vector<Run> runs = vector_of(3, size, size + 1);
    std::uint64_t portions = 0;
    for (RunPosition at; at.index < runs.size(); ++portions) at = next_portion(runs, at, 64).end;
    REQUIRE(count_portions(runs, 64) == portions);
  }
}

TEST_CASE("runs are of a put only if none is empty and their sizes are its size", "[neon]") {
  REQUIRE(are_valid(vector_of(3, 8, 16), 24));
  REQUIRE_FALSE(are_valid(vector_of(3, 8, 16), 23));
  REQUIRE_FALSE(are_valid(vector_of(3, 8, 16), 25));
  REQUIRE_FALSE(are_valid(std::vector<Run>{{0, 8}, {16, 0}, {32, 8}}, 16));
  REQUIRE_FALSE(
      are_valid(std::vector<Run>{{0, 8}, {16, ~std::uint64_t{0}}}, 7));  // the sum wraps around
}

TEST_CASE("runs further apart than a frame can name go in frames of their own", "[neon]") {
  constexpr std::uint64_t kFar = std::uint64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  const std::vector<Run> runs = {{0, 8}, {16, 8}, {kFar, 8}, {kFar + 16, 8}, {0, 8}};
  REQUIRE(count_portions(runs, 4096) == 2);
  REQUIRE(next_portion(runs, {}, 4096).runs == 2);
  REQUIRE(next_portion(runs, {2, 0}, 4096).runs == 3);
}

TEST_CASE("forged frames with runs write nothing", "[neon]") {
  World world(2, {});
  Neon& neon = world[0].neon;
  const std::uint64_t room = world[0].memory.size();
  struct Forged {
    std::uint64_t extra;
    std::uint16_t runs;
    std::vector<FrameRun> list;
    std::size_t bytes;
    bool accepted;  // as a frame; the put fails all the same
  };
  const std::uint64_t top = ~std::uint64_t{0};
  const Forged each = GENERATE_COPY(values<Forged>({
      {0, 2, {{0, 8}, {static_cast<std::int32_t>(room) - 7, 8}}, 16, true},  // beyond the window
      {0, 2, {{0, 8}, {static_cast<std::int32_t>(room), 1}}, 9, true},
      {room - 8, 2, {{0, 8}, {8, 8}}, 16, true},
      {0, 2, {{0, 8}, {-1, 8}}, 16, false},       // before it
      {top - 3, 2, {{0, 8}, {8, 8}}, 16, false},  // the sum wraps around
      {top - 8, 2, {{0, 8}, {16, 8}}, 16, false},
      {0, 0, {}, 16, false},                 // no run
      {0, 2, {{0, 8}, {16, 0}}, 8, false},   // an empty one
      {0, 2, {{0, 8}, {16, 8}}, 15, false},  // fewer bytes, or more, than the runs have
      {0, 2, {{0, 8}, {16, 8}}, 17, false},
      {0, 3, {{0, 8}, {16, 8}}, 0, false},  // the list is longer than the frame
      {0, 65535, {{0, 8}, {16, 8}}, 16, false},
      {0, 2, {{0, 0xffffffffu}, {16, 1}}, 16, false},
  }));
  Header header;
  header.kind = Kind::put_runs;
  header.tag = 2;
  header.count = 1;
  header.extra = each.extra;
  header.runs = each.runs;
  std::vector<std::byte> payload(each.list.size() * sizeof(FrameRun) + each.bytes, std::byte{9});
  if (!each.list.empty())
    std::memcpy(payload.data(), each.list.data(), each.list.size() * sizeof(FrameRun));
  CHECK(neon.on_frame(1, header, payload.data(), payload.size()) == each.accepted);
  CHECK(world[0].memory == std::vector<std::byte>(room));
  CHECK(world[0].slots[2].value() == 0);
  CHECK(neon.statistics().overruns == (each.accepted ? 1 : 0));
}

TEST_CASE("a run that its sender changes after the check is written nowhere", "[neon]") {
  World world(2, {});
  const std::uint64_t room = world[0].memory.size();
  struct Changed {
    FrameRun run;   // the second of three runs of 8 bytes
    bool accepted;  // still within the checked span, and all bytes in the frame
  };
  const Changed each = GENERATE(values<Changed>({
      {{40, 8}, false},  // behind the span
      {{4000, 8}, false},
      {{-8, 8}, false},           // before it
      {{32, 9}, false},           // beyond its end
      {{0, 0xffffffffu}, false},  // longer than all
      {{0, 17}, false},           // longer than the rest of the frame
      {{0, 16}, false},           // the next run has too few bytes then
      {{8, 8}, true},
      {{16, 4}, true},
      {{16, 0}, true},
  }));
  const FrameRun list[] = {{0, 8}, {16, 8}, {32, 8}};
  std::vector<std::byte> payload(sizeof list + 24, std::byte{9});
  std::memcpy(payload.data(), list, sizeof list);
  world[0].on_window = [&] {
    std::memcpy(payload.data() + sizeof list[0], &each.run, sizeof each.run);
  };
  Header header;
  header.kind = Kind::put_runs;
  header.tag = 2;
  header.count = 1;
  header.extra = 64;
  header.runs = 3;
  CHECK(world[0].neon.on_frame(1, header, payload.data(), payload.size()) == each.accepted);
  CHECK(world[0].slots[2].value() == (each.accepted ? 1 : 0));
  for (std::size_t at = 0; at < room; ++at)
    if ((at < 64 || at >= 64 + 40) && world[0].memory[at] != std::byte{0})
      FAIL("byte " << at << " was written");
}

TEST_CASE("a put of several frames with a run outside the window does not notify", "[neon]") {
  World world(2, {.seed = 9, .reorder = true});
  std::vector<Run> runs = vector_of(600, 8, 16);
  runs.push_back({world[0].memory.size(), 8});
  const auto data = pattern(601 * 8, 1);
  Op op;
  REQUIRE(put_notify(world, op, 0, data.data(), data.size(), runs, 2, true) == Status::ok);
  REQUIRE(world.run());
  REQUIRE(op.result == Status::range);
  REQUIRE(world[0].slots[2].value() == 0);
}

}  // namespace lfc::neon
