// Ranks that leave a communicator: the NI keeps the tree node, and may still receive packets for it.
#include <memory>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {

TEST_CASE("the tree node of a rank that has left writes nothing onto the board", "[coll]") {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::uint32_t kLeader = 2;  // of ranks 2 and 3, which share the board of node 1
  for (const bool left : {false, true}) {
    INFO((left ? "the leader has left" : "the leader comes late"));
    std::vector<std::byte> bytes(40);
    std::vector<CollOperation> first(kRanks);
    std::vector<CollOperation> second(kRanks);
    std::unique_ptr<TreeNode> tree;
    CollWorld world({.ranks = kRanks, .per_node = 2, .seed = 5});
    const auto broadcast = [&](std::vector<CollOperation>& operations, std::uint32_t rank) {
      CollOperation& operation = operations[rank];
      operation.kind = LFC_COLL_BCAST;
      operation.root = 0;
      operation.in = bytes.data();
      operation.out = bytes.data();
      operation.bytes = bytes.size();
      world.communicator(rank).submit(operation);
    };
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) broadcast(first, rank);
    REQUIRE(world.finish(first));
    if (left) tree = world.communicator(kLeader).take_tree();
    for (const std::uint32_t rank : {0u, 1u, 3u}) broadcast(second, rank);
    for (int ticks = 0; ticks < 5000; ++ticks) world.step();
    CHECK(second[0].finished.load());
    CHECK(second[3].finished.load() == !left);
    if (left) {
      world.communicator(3).set_failed(Board::End::lost);
      world.world().settle();
      tree->leave();
      tree.reset();
    } else {
      broadcast(second, kLeader);
      REQUIRE(world.finish(second));
    }
    for (int ticks = 0; ticks < 5000 && !second[3].finished.load(); ++ticks) world.step();
    REQUIRE(second[3].finished.load());
  }
}

}  // namespace lfc
