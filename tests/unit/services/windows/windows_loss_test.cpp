// Windows over simulated links: the state after a loss, and hostile members. A hostile member can end its own
// connection, and nothing else.
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "unit/services/windows/windows_world.hpp"

namespace lfc {

TEST_CASE("operations that a lost member leaves are given back", "[windows]") {
  Setting at(3);
  std::uint64_t value = 3;
  int request = 0;
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(at.at(0).get(1, Word(&value).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
    REQUIRE(at.at(0).put(1, Word(&value).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
    REQUIRE(at.at(0).get(1, Word(&value).view, Word(nullptr).view, &request) == WindowStatus::ok);
  }
  REQUIRE(at.at(0).get(2, Word(&value).view, Word(nullptr).view, &request) == WindowStatus::ok);
  REQUIRE(at.services[0]->operations().count() >= 11);
  at.world.fabric().cut(0, 1);
  REQUIRE(at.at(0).flush(1) == WindowStatus::lost);
  at.services[0]->serve_host();
  REQUIRE(finished.size() >= 5);
  REQUIRE(at.services[0]->operations().count() <= 1);  // one of the other member
  at.windows[0].reset();
  REQUIRE(finished.size() == 6);  // no request stays open
  REQUIRE(at.services[0]->operations().count() == 0);
}

// The state after this many puts in epochs whose fragments need no acknowledgement.
TEST_CASE("a flush waits for the last of thousands of millions of fragments", "[windows]") {
  for (const std::uint64_t before : {0x7fffffffull, 0x80000010ull, 0xffffffffull}) {
    CAPTURE(before);
    Setting at(2);
    at.at(0).protocol().origin.use(1).sent = before;
    at.at(1).protocol().target.peer(0).received = before;
    std::uint64_t value = 1;
    REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
    for (int i = 0; i < 5; ++i, ++value) {
      REQUIRE(at.at(0).put(1, Word(&value).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
      REQUIRE(at.words(1)[0] == value);
    }
    REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  }
}

TEST_CASE("calls that wait for a lost member return", "[windows]") {
  Setting at(2);
  std::uint64_t value = 3;
  int request = 0;
  REQUIRE(at.at(0).lock(1, false, false) == WindowStatus::ok);
  REQUIRE(at.at(0).get(1, Word(&value).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).fetch(1, kAdd, Word(&value).view, Word(&value).view, Word(nullptr).view,
                         &request) == WindowStatus::ok);
  at.world.fabric().cut(0, 1);
  REQUIRE(at.at(0).flush(1) == WindowStatus::lost);
  at.services[0]->serve_host();
  REQUIRE((finished.size() == 1 && finished[0].second == WindowStatus::lost));
}

TEST_CASE("an unlock that names more than has arrived waits for it", "[windows]") {
  Setting at(2, {.initial_window = 8});
  std::uint64_t value = 1;
  REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(1, Word(&value).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  WindowHead unlock = at.head(0, 1, WindowKind::unlock, 0, 0);
  unlock.count = 2;
  at.send(0, 1, unlock, {}, 0);
  at.settle();
  REQUIRE(at.at(1).protocol().target.peer(0).holds);
  at.send(0, 1, at.head(0, 1, WindowKind::put, 8, 1), {{0, 8, 0, 1}}, 8);
  at.settle();
  REQUIRE_FALSE(at.at(1).protocol().target.peer(0).holds);
  REQUIRE(at.words(1)[0] == 0xeeeeeeeeeeeeeeee);
}

TEST_CASE("hostile frames change nothing, and most end the connection", "[windows]") {
  const std::vector<Run> word{{0, 8, 0, 1}};
  SECTION("freed or unknown windows: late frames are dropped") {
    Setting at(2);
    WindowHead head = at.head(0, 1, WindowKind::put, 8, 1);
    head.window += 1;
    at.send(0, 1, head, word, 8);
    at.settle();
    REQUIRE_FALSE(at.broke(1));
  }
  SECTION("outside the window: refused, and reported") {
    for (const Run& run : {Run{-8, 8, 0, 1}, Run{kWords * 8 - 4, 8, 0, 1}, Run{0, 8, 1 << 20, 2},
                           Run{INT64_MAX - 4, 8, 0, 1}, Run{8, 8, -16, 2}}) {
      Setting at(2);
      at.send(0, 1, at.head(0, 1, WindowKind::put, run.length * run.repeat, 1), {run},
              run.length * run.repeat);
      at.settle();
      REQUIRE_FALSE(at.broke(1));
      for (std::size_t i = 0; i < kWords; ++i) REQUIRE(at.words(1)[i] == 0);
    }
  }
  SECTION("malformed") {
    struct Case {
      WindowKind kind;
      std::uint32_t rank;
      std::vector<Run> runs;
      std::uint32_t run_count;
      std::uint64_t claimed;
      std::size_t bytes;
    };
    const std::vector<Case> cases{
        {WindowKind::put, 7, word, 1, 8, 8},                     // no such rank
        {WindowKind::put, 1, word, 1, 8, 8},                     // another rank
        {WindowKind::put, 0, word, 1, 16, 16},                   // runs cover less
        {WindowKind::put, 0, word, 1, 8, 4},                     // bytes are missing
        {WindowKind::put, 0, word, 2, 8, 0},                     // runs are missing
        {WindowKind::put, 0, {}, 0, 0, 0},                       // nothing
        {WindowKind::put, 0, {{0, 0, 0, 1}}, 1, 0, 0},           // an empty run
        {WindowKind::put, 0, {{0, 1ull << 63, 0, 2}}, 1, 0, 0},  // overflows
        {WindowKind::get, 0, word, 1, 8, 8},                     // a get with bytes
        {WindowKind::compare_swap, 0, word, 1, 8, 8},            // half of the operands
        {WindowKind::compare_swap, 0, {{0, 16, 0, 1}}, 1, 16, 32},
        {WindowKind::unlock, 0, {}, 0, 0, 0},   // holds no lock
        {WindowKind::granted, 0, {}, 0, 0, 0},  // not requested
        {static_cast<WindowKind>(99), 0, {}, 0, 0, 0},
    };
    for (const Case& one : cases) {
      Setting at(2);
      WindowHead head = at.head(0, 1, one.kind, one.claimed, one.run_count);
      head.rank = one.rank;
      at.send(0, 1, head, one.runs, one.bytes);
      at.settle();
      REQUIRE(at.broke(1));
      REQUIRE(at.words(1)[0] == 0);
    }
  }
  SECTION("operations that there are not") {
    for (const auto& [operation, element] : {std::pair{99, 0}, {0, 99}, {0, 17}, {4, 9}}) {
      Setting at(2);
      WindowHead head = at.head(0, 1, WindowKind::accumulate, 8, 1);
      head.operation = static_cast<std::uint8_t>(operation);
      head.element = static_cast<std::uint8_t>(element);
      at.send(0, 1, head, word, 8);
      at.settle();
      REQUIRE(at.broke(1));
    }
  }
  SECTION("random heads") {
    Random random(11);
    for (int round = 0; round < 400; ++round) {
      Setting at(2, {.initial_window = 4});
      for (int frame = 0; frame < 4; ++frame) {
        WindowHead head = at.head(0, 1, static_cast<WindowKind>(1 + random.below(11)),
                                  random.below(40), static_cast<std::uint32_t>(random.below(3)));
        head.flags = static_cast<std::uint8_t>(random.below(128));
        head.operation = static_cast<std::uint8_t>(random.below(16));
        head.element = static_cast<std::uint8_t>(random.below(24));
        if (random.chance(500)) {
          head.reply = random.next();
        } else {
          head.count = random.below(3);
        }
        head.offset = random.next();
        std::vector<Run> runs(head.runs);
        for (Run& run : runs)
          run = {static_cast<std::int64_t>(random.below(700)) - 100, random.below(24),
                 static_cast<std::int64_t>(random.below(64)) - 32, random.below(4)};
        if (!runs.empty() && random.chance(700)) {
          head.bytes = 0;
          for (const Run& run : runs) head.bytes += run.length * run.repeat;
        }
        at.send(0, 1, head, runs, random.chance(800) ? head.bytes : random.below(64));
      }
      at.settle();  // it checks the canaries at the end
    }
  }
}

}  // namespace lfc
