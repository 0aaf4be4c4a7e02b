// The largest blocks that exchanges, and gathers and scatters among nodes, take.
#include "services/collective/algorithms/exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"

using namespace lfc;

namespace {

// `ranks` ranks, of which `per_node` share a node.
Membership members_of(std::uint32_t ranks, std::uint32_t per_node) {
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    names.push_back({1, rank});
    nodes.push_back(rank / per_node);
  }
  return Membership(names, nodes);
}

}  // namespace

TEST_CASE("the blocks of all ranks of a small gather or scatter fit into one packet", "[coll]") {
  const lfc_coll_kind kind = GENERATE(LFC_COLL_GATHER, LFC_COLL_SCATTER);
  const std::uint32_t ranks = GENERATE(2u, 7u, 64u, 1000u);
  const std::uint32_t per_node = GENERATE(1u, 2u, 32u);
  const std::size_t packet = GENERATE(std::size_t{64}, std::size_t{256}, limits::kCollPacket);
  CAPTURE(static_cast<int>(kind), ranks, per_node, packet);
  const std::size_t most = most_exchanged(members_of(ranks, per_node), packet, kind);
  const std::size_t in_room = Board::kRoom / std::min(ranks, per_node);
  REQUIRE(most * ranks <= packet);
  REQUIRE(most * ranks <= limits::kMostTogether);
  REQUIRE(most * ranks <= in_room);
  REQUIRE((most + 1) * ranks > std::min({packet, limits::kMostTogether, in_room}));
}

TEST_CASE("a kind that is not exchanged has no block that fits", "[coll]") {
  const lfc_coll_kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_GATHERV, LFC_COLL_SCAN);
  REQUIRE(most_exchanged(members_of(4, 2), limits::kCollPacket, kind) == 0);
}
