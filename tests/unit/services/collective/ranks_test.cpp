// Members, ranks and lanes of a communicator.
#include "services/collective/protocol/ranks.hpp"

#include <cstdint>
#include <vector>

#include "catch.hpp"

using namespace lfc;

namespace {

// Six processes on three nodes, assigned in turn. The order of MPI's ranks is the reverse of that of names.
Ranks seen_by(std::uint32_t self) {
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t member = 0; member < 6; ++member) {
    names.push_back({1, member});
    nodes.push_back(member % 3);
    ranks.push_back(5 - member);
  }
  return Ranks(Membership(names, nodes), self, ranks);
}

}  // namespace

TEST_CASE("members and ranks name each other", "[coll]") {
  const Ranks ranks = seen_by(4);
  CHECK(ranks.self() == 4);
  for (std::uint32_t member = 0; member < 6; ++member) {
    CHECK(ranks.rank_of(member) == 5 - member);
    CHECK(ranks.member_of(static_cast<int>(ranks.rank_of(member))) == member);
  }
}

TEST_CASE("lanes are the members of one node, in the same order for all of them", "[coll]") {
  for (const std::uint32_t self : {1u, 4u}) {
    const Ranks ranks = seen_by(self);
    CHECK(ranks.local() == std::vector<std::uint32_t>{1, 4});
    CHECK(ranks.lanes() == 2);
    CHECK(ranks.lane() == (self == 1 ? 0 : 1));
    CHECK(ranks.lane_of(1) == 0);
    CHECK(ranks.lane_of(4) == 1);
    CHECK(ranks.lane_of(2) == 0);  // on another node
  }
}
