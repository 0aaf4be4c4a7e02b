// The list of communicators with operations that go on by themselves.
#include "services/collective/protocol/going.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

using lfc::Going;

struct Item : Going::Entry {
  std::atomic<int> visits = 0;
  std::atomic<int> kept = 0;  // times it was put in, less those it was let go
};

void begin(Going& going, Item& item) {
  if (going.begun(item)) ++item.kept;
}
bool walk(Going& going) {
  return going.for_each([](Going::Entry& entry) { ++static_cast<Item&>(entry).visits; },
                        [](Going::Entry& entry) { --static_cast<Item&>(entry).kept; });
}

}  // namespace

TEST_CASE("going: who has begun something is visited until it has ended, and let go once",
          "[going]") {
  Going going;
  std::array<Item, 3> items;
  for (Item& item : items) begin(going, item);
  begin(going, items[1]);
  CHECK(walk(going));
  for (Item& item : items) CHECK(item.visits == 1);
  Going::ended(items[1]);
  Going::ended(items[0]);
  CHECK(walk(going));
  CHECK(items[0].visits == 1);
  CHECK(items[0].kept == 0);
  CHECK(items[1].visits == 2);
  CHECK(items[2].visits == 2);
  begin(going, items[0]);
  CHECK(walk(going));
  CHECK(items[0].visits == 2);
  for (Item& item : items) Going::ended(item);
  CHECK(walk(going));
  for (Item& item : items) CHECK(item.kept == 0);
}

TEST_CASE("going: what begins inside a visit joins; a walk inside a walk does nothing", "[going]") {
  Going going;
  Item outer, inner;
  begin(going, outer);
  going.for_each(
      [&](Going::Entry&) {
        begin(going, inner);
        CHECK_FALSE(walk(going));
        Going::ended(outer);
      },
      [](Going::Entry&) { FAIL("nothing has ended before"); });
  CHECK(walk(going));
  CHECK(inner.visits == 1);
  CHECK(outer.kept == 0);
}

TEST_CASE("going: threads begin and walk at the same time, and nothing is forgotten", "[going]") {
  Going going;
  constexpr int kThreads = 4, kRounds = 3000;
  std::array<Item, kThreads> items;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (Item& item : items)
    threads.emplace_back([&going, &item] {
      for (int round = 0; round < kRounds; ++round) {
        const int before = item.visits;
        begin(going, item);
        while (item.visits == before)
          if (!walk(going)) std::this_thread::yield();
        Going::ended(item);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(walk(going));
  for (Item& item : items) {
    CHECK(item.kept == 0);
    CHECK(item.visits >= kRounds);
  }
}
