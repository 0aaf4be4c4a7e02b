// Names of communicators: different for each, and no memory that grows with the communicators made so far.
#include "services/collective/protocol/names.hpp"

#include <unordered_set>

#include "catch.hpp"

namespace lfc {
namespace {

constexpr std::uint64_t kMany = 100'000;

}  // namespace

TEST_CASE("communicators of one number that are made again and again take memory once", "[coll]") {
  CommunicatorNames names;
  std::unordered_set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < kMany; ++i) seen.insert(names.next(7 + i % 3));
  CHECK(seen.size() == kMany);
  CHECK(names.size() == 3);
}

TEST_CASE("a communicator with a number of its own leaves nothing behind", "[coll]") {
  CommunicatorNames names;
  std::unordered_set<std::uint64_t> seen;
  for (std::uint64_t key = 0; key < kMany; ++key) {
    seen.insert(names.next(key));
    seen.insert(names.next(key));  // a group of a persistent request
    names.forget(key);
  }
  CHECK(seen.size() == 2 * kMany);
  CHECK(names.size() == 0);
}

}  // namespace lfc
