// The plan of an operation among nodes: the fan-out of its tree.
#include "services/collective/protocol/plan.hpp"

#include <cstddef>
#include <cstdint>

#include "catch.hpp"
#include "services/collective/collective.hpp"

namespace lfc {
namespace {

struct Planned {
  std::uint64_t chunks;
  std::uint32_t fan;
  std::uint32_t top;
};

Planned plan_of(lfc_coll_kind kind, std::uint32_t nodes, std::size_t bytes) {
  CollOperation operation({.kind = kind, .bytes = bytes, .op = LFC_OP_SUM, .type = LFC_ELEMENT_U8});
  plan(operation, collective_of(kind).traits, {.nodes = nodes, .middle = nodes / 2}, {});
  return {operation.chunks, operation.fan, operation.top};
}

}  // namespace

TEST_CASE("up to nine nodes the tree of one packet is flat", "[coll]") {
  for (const lfc_coll_kind kind : {LFC_COLL_BCAST, LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{4096},
                                    std::size_t{4097}, limits::kCollPacket})
      for (std::uint32_t nodes = 2; nodes <= 9; ++nodes) {
        CAPTURE(static_cast<int>(kind), bytes, nodes);
        const Planned planned = plan_of(kind, nodes, bytes);
        CHECK(planned.chunks == 1);
        CHECK(planned.fan >= nodes - 1);
      }
}

TEST_CASE("many packets go along a chain, and one packet for many nodes down a tree", "[coll]") {
  for (std::uint32_t nodes = 3; nodes <= 9; ++nodes) {
    CAPTURE(nodes);
    CHECK(plan_of(LFC_COLL_BCAST, nodes, 100 * limits::kCollPacket).fan == 1);
  }
  CHECK(plan_of(LFC_COLL_BCAST, 64, 8).fan == 4);
}

TEST_CASE("the top of an allreduce is member 0 in a flat tree, and else the middle", "[coll]") {
  for (std::uint32_t nodes = 2; nodes <= 9; ++nodes) {
    CAPTURE(nodes);
    CHECK(plan_of(LFC_COLL_ALLREDUCE, nodes, 0).top == 0);
  }
  CHECK(plan_of(LFC_COLL_ALLREDUCE, 10, 0).top == 5);
  CHECK(plan_of(LFC_COLL_ALLREDUCE, 4, 100 * limits::kCollPacket).top == 2);
}

}  // namespace lfc
