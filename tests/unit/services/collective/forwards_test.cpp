// The ranks that report when they leave a collective: inner nodes of its tree, because they forward later packets.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

// Runs the operation at all ranks. Returns the ranks that forward.
std::vector<std::uint32_t> forwarders(const CollWorld::Shape& shape, lfc_coll_kind kind) {
  CollWorld world(shape);
  std::vector<CollOperation> operations(shape.ranks);
  std::vector<std::vector<std::byte>> out(shape.ranks, std::vector<std::byte>(shape.ranks * 8));
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    CollOperation& operation = operations[rank];
    operation.kind = kind;
    operation.op = LFC_OP_SUM;
    operation.type = LFC_ELEMENT_U8;
    operation.bytes = 8;
    operation.in = "1234567";
    operation.out = out[rank].data();
    world.communicator(rank).submit(operation);
  }
  REQUIRE(world.finish(operations));
  std::vector<std::uint32_t> found;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
    if (world.communicator(rank).forwards(operations[rank])) found.push_back(rank);
  return found;
}

using Found = std::vector<std::uint32_t>;

TEST_CASE("forwards: the inner nodes of a chain forward, not its ends", "[coll]") {
  const CollWorld::Shape chain{.ranks = 4, .options = {.packet = 512, .fan = 1}};
  CHECK(forwarders(chain, LFC_COLL_BCAST) == Found{1, 2});
  CHECK(forwarders(chain, LFC_COLL_REDUCE) == Found{1, 2});
  CHECK(forwarders(chain, LFC_COLL_ALLREDUCE) == Found{1, 2});  // of a broadcast from rank 0
  CHECK(forwarders(chain, LFC_COLL_ALLGATHER).empty());
}

TEST_CASE("forwards: the leader of an inner node alone", "[coll]") {
  CHECK(forwarders({.ranks = 8, .per_node = 2, .options = {.packet = 512, .fan = 1}},
                   LFC_COLL_BCAST) == Found{2, 4});
}

TEST_CASE("forwards: no rank in a flat tree, nor on one node", "[coll]") {
  for (const lfc_coll_kind kind : {LFC_COLL_BCAST, LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE}) {
    CHECK(forwarders({.ranks = 4}, kind).empty());
    CHECK(forwarders({.ranks = 4, .per_node = 4}, kind).empty());
  }
}

}  // namespace
}  // namespace lfc
