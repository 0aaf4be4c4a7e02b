// Windows whose members send frames of different sizes, because their engines have other links.
#include <algorithm>
#include <array>
#include <cstdint>

#include "catch.hpp"
#include "unit/services/windows/windows_world.hpp"

namespace lfc {
namespace {

using Values = std::array<std::uint64_t, kWords>;

View words_at(Values& values, const Run& run) {
  return {reinterpret_cast<std::byte*>(values.data()), 0, {&run, 1}, 0, 1, run.length};
}

// All operations on so many words, from one member to the other.
void operate(Setting& at, Node from, Node to, std::uint64_t count) {
  CAPTURE(from, to, count);
  Values added, old, got;
  for (std::uint64_t i = 0; i < kWords; ++i) added[i] = 100 * count + i;
  const Run run{0, 8 * count, 0, 1};
  const View there{nullptr, 0, {&run, 1}, 0, 1, run.length};
  Window& window = at.at(from);
  std::fill_n(at.words(to), kWords, 7);
  REQUIRE(window.accumulate(to, kAdd, words_at(added, run), there, nullptr) == WindowStatus::ok);
  REQUIRE(window.flush(to) == WindowStatus::ok);
  REQUIRE(window.fetch(to, kAdd, words_at(added, run), words_at(old, run), there, nullptr) ==
          WindowStatus::ok);
  REQUIRE(window.flush(to) == WindowStatus::ok);
  const Accumulation read{Accumulate::no_op, Element::u64};
  REQUIRE(window.fetch(to, read, View{}, words_at(got, run), there, nullptr) == WindowStatus::ok);
  REQUIRE(window.flush(to) == WindowStatus::ok);
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(old[i] == 7 + added[i]);
    REQUIRE(got[i] == 7 + 2 * added[i]);
    REQUIRE(at.words(to)[i] == got[i]);
  }
  REQUIRE(window.put(to, words_at(added, run), there, nullptr) == WindowStatus::ok);
  REQUIRE(window.get(to, words_at(got, run), there, nullptr) == WindowStatus::ok);
  REQUIRE(window.flush(to) == WindowStatus::ok);
  REQUIRE(
      std::equal(added.begin(), added.begin() + static_cast<std::ptrdiff_t>(count), got.begin()));
}

}  // namespace

TEST_CASE("members of a window may send frames of different sizes", "[windows]") {
  Setting at(2, {.initial_window = 2}, Flavor::create, {.seed = 7, .max_payload = 420}, 0, 192);
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(1).lock_all(false) == WindowStatus::ok);
  for (std::uint64_t count = 1; count <= kWords; ++count) {
    operate(at, 0, 1, count);
    operate(at, 1, 0, count);
  }
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  REQUIRE(at.at(1).unlock_all() == WindowStatus::ok);
  REQUIRE_FALSE((at.broke(0) || at.broke(1)));
}

}  // namespace lfc
