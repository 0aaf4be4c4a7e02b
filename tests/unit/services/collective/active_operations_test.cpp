// The list of communicators with nonblocking operations.
#include "services/collective/protocol/active_operations.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

using lfc::ActiveOperations;

struct Item : ActiveOperations::Entry {
  std::atomic<int> visits = 0;
  std::atomic<int> kept = 0;  // how often it was added, less how often it was removed
};

void begin(ActiveOperations& active, Item& item) {
  if (active.begun(item)) ++item.kept;
}
bool walk(ActiveOperations& active) {
  return active.for_each([](ActiveOperations::Entry& entry) { ++static_cast<Item&>(entry).visits; },
                         [](ActiveOperations::Entry& entry) { --static_cast<Item&>(entry).kept; });
}

}  // namespace

TEST_CASE("active operations: a begun operation is visited until it has ended, and released once",
          "[active_operations]") {
  ActiveOperations active;
  std::array<Item, 3> items;
  for (Item& item : items) begin(active, item);
  begin(active, items[1]);
  CHECK(walk(active));
  for (Item& item : items) CHECK(item.visits == 1);
  ActiveOperations::ended(items[1]);
  ActiveOperations::ended(items[0]);
  CHECK(walk(active));
  CHECK(items[0].visits == 1);
  CHECK(items[0].kept == 0);
  CHECK(items[1].visits == 2);
  CHECK(items[2].visits == 2);
  begin(active, items[0]);
  CHECK(walk(active));
  CHECK(items[0].visits == 2);
  for (Item& item : items) ActiveOperations::ended(item);
  CHECK(walk(active));
  for (Item& item : items) CHECK(item.kept == 0);
}

TEST_CASE(
    "active operations: an operation that begins inside a visit joins; a nested walk does nothing",
    "[active_operations]") {
  ActiveOperations active;
  Item outer, inner;
  begin(active, outer);
  active.for_each(
      [&](ActiveOperations::Entry&) {
        begin(active, inner);
        CHECK_FALSE(walk(active));
        ActiveOperations::ended(outer);
      },
      [](ActiveOperations::Entry&) { FAIL("nothing has ended before"); });
  CHECK(walk(active));
  CHECK(inner.visits == 1);
  CHECK(outer.kept == 0);
}

TEST_CASE("active operations: threads begin and walk at the same time, and nothing is forgotten",
          "[active_operations]") {
  ActiveOperations active;
  constexpr int kThreads = 4, kRounds = 3000;
  std::array<Item, kThreads> items;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (Item& item : items)
    threads.emplace_back([&active, &item] {
      for (int round = 0; round < kRounds; ++round) {
        const int before = item.visits;
        begin(active, item);
        while (item.visits == before)
          if (!walk(active)) std::this_thread::yield();
        ActiveOperations::ended(item);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(walk(active));
  for (Item& item : items) {
    CHECK(item.kept == 0);
    CHECK(item.visits >= kRounds);
  }
}
