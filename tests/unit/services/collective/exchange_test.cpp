// The largest blocks that exchanges take.
#include "services/collective/algorithms/exchange.hpp"

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

TEST_CASE("a kind that is not exchanged has no block that fits", "[coll]") {
  const lfc_coll_kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_GATHER, LFC_COLL_SCAN);
  REQUIRE(most_exchanged(members_of(4, 2), limits::kCollPacket, kind) == 0);
}
