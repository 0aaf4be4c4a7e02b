#include "services/channels/protocol/early.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace {

struct TestKey;
using Early = lfc::channels::EarlyMessages<TestKey>;
struct TestKey {
  Early::Item *first_early = nullptr, *last_early = nullptr;
};

std::vector<std::byte> frame_of(std::size_t size, int number) {
  std::vector<std::byte> frame(size, static_cast<std::byte>(number));
  return frame;
}

bool holds(const Early::Item& item, std::size_t size, int number) {
  const std::vector<std::byte> frame = frame_of(size, number);
  return item.size == size && std::memcmp(item.frame, frame.data(), size) == 0;
}

}  // namespace

TEST_CASE("early messages: those of a key leave in their order, and so do all", "[channels]") {
  Early early;
  std::array<TestKey, 2> keys;
  CHECK(early.empty());
  for (int i = 0; i < 6; ++i)
    REQUIRE(early.keep(keys[static_cast<std::size_t>(i % 2)], frame_of(20, i).data(), 20));
  CHECK(holds(*keys[1].first_early, 20, 1));
  early.drop(*keys[1].first_early);
  early.drop(*keys[1].first_early);
  for (const int number : {0, 2, 4, 5}) {
    REQUIRE(early.oldest() != nullptr);
    CHECK(holds(*early.oldest(), 20, number));
    early.drop(*early.oldest());
  }
  CHECK(early.empty());
  CHECK(keys[0].first_early == nullptr);
}

TEST_CASE("early messages: every place is used again", "[channels]") {
  Early early;
  TestKey key;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < Early::kMost; ++i)
      REQUIRE(early.keep(key, frame_of(Early::kCell, 1).data(), Early::kCell));
    CHECK_FALSE(early.keep(key, frame_of(8, 1).data(), 8));
    while (!early.empty()) early.drop(*early.oldest());
  }
}

TEST_CASE("early messages: longer ones share a room", "[channels]") {
  constexpr std::size_t kLong = Early::kCell + 1, kFit = Early::kRoom / kLong;
  static_assert(kFit > Early::kMost);
  constexpr std::size_t kLonger = Early::kRoom / 4;
  Early early;
  TestKey key;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) REQUIRE(early.keep(key, frame_of(kLonger, i).data(), kLonger));
    CHECK_FALSE(early.keep(key, frame_of(kLong, 9).data(), kLong));
    REQUIRE(early.keep(key, frame_of(Early::kCell, 5).data(), Early::kCell));  // a short one fits
    for (int i = 0; i < 4; ++i) {
      CHECK(holds(*key.first_early, kLonger, i));
      early.drop(*key.first_early);
    }
    early.drop(*key.first_early);
    CHECK(early.empty());
  }
}

TEST_CASE("early messages: any sequence equals two queues", "[channels]") {
  Early early;
  std::array<TestKey, 3> keys;
  std::deque<std::pair<std::size_t, int>> all;  // key, number
  unsigned random = 12345;
  for (int step = 0; step < 20000; ++step) {
    random = random * 1664525u + 1013904223u;
    const std::size_t key = (random >> 8) % keys.size();
    const std::size_t size = (random >> 16) % 5 == 0 ? 600 : 30;
    if ((random >> 24) % 2 == 0) {
      if (early.keep(keys[key], frame_of(size, step % 200).data(), size))
        all.emplace_back(key, step % 200);
    } else if (Early::Item* const first = keys[key].first_early) {
      const auto expected =
          std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == key; });
      REQUIRE(expected != all.end());
      REQUIRE(holds(*first, first->size, expected->second));
      all.erase(expected);
      early.drop(*first);
    }
  }
  while (!early.empty()) {
    REQUIRE_FALSE(all.empty());
    CHECK(holds(*early.oldest(), early.oldest()->size, all.front().second));
    all.pop_front();
    early.drop(*early.oldest());
  }
  CHECK(all.empty());
}
