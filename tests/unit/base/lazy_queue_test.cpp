// LazyQueue: the order of items, and the memory that they own.
#include "base/lazy_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>

#include "catch.hpp"

namespace lfc {

TEST_CASE("a lazy queue keeps the order of its items at every size", "[lazy_queue]") {
  static_assert(sizeof(LazyQueue<int>) <= 24);
  LazyQueue<int> queue;
  std::deque<int> model;
  std::mt19937 random(1);
  std::size_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool fills =
        i / 100 % 2 == 0;  // long rises and falls, so that it grows with its first item anywhere
    if (random() % 8 < (fills ? 6u : 2u)) {
      queue.push_back(i);
      model.push_back(i);
    } else if (!model.empty()) {
      queue.pop_front();
      model.pop_front();
    }
    if (random() % 1024 == 0) {
      queue.clear();
      model.clear();
    }
    most = std::max(most, model.size());
    REQUIRE(queue.size() == model.size());
    REQUIRE(queue.empty() == model.empty());
    if (i % 64 == 0) {
      std::deque<int> seen;
      queue.for_each([&](int item) { seen.push_back(item); });
      REQUIRE(seen == model);
    }
    if (model.empty()) continue;
    REQUIRE(queue.front() == model.front());
    REQUIRE(queue.back() == model.back());
  }
  CHECK(most > 64);
}

TEST_CASE("a lazy queue frees what its items own", "[lazy_queue]") {
  const auto owned = std::make_shared<int>(7);
  LazyQueue<std::shared_ptr<int>> queue;
  for (int i = 0; i < 10; ++i) queue.push_back(owned);
  REQUIRE(owned.use_count() == 11);
  for (int i = 0; i < 4; ++i) queue.pop_front();
  CHECK(owned.use_count() == 7);
  queue.clear();
  CHECK(owned.use_count() == 1);
  CHECK(queue.empty());
  queue.push_back(owned);
  CHECK(queue.front() == owned);
}

}  // namespace lfc
