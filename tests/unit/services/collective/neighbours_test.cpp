// Neighbourhood collectives: the places of parts in any graph, and which rank waits for which.
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"
#include "sim/neighbours.hpp"

namespace lfc {
namespace {

// Ranks of one node with a process topology.
class NeighbourWorld : public CollWorld {
 public:
  explicit NeighbourWorld(const Edges& of, std::uint64_t seed = 1)
      : CollWorld({.ranks = static_cast<std::uint32_t>(of.to.size()),
                   .per_node = static_cast<std::uint32_t>(of.to.size()),
                   .seed = seed}),
        edges(of) {
    for (std::uint32_t rank = 0; rank < of.to.size(); ++rank)
      neighbours.push_back(communicator(rank).meet(of.at(rank)));
  }
  const Edges& edges;
  std::vector<std::unique_ptr<lfc_coll_neighbours>> neighbours;
};

// The same call at some ranks of a node.
struct Call {
  Call(NeighbourWorld& world, const NeighbourPart::Sizes& sizes,
       lfc_coll_kind kind = LFC_COLL_NEIGHBOR_ALLTOALL)
      : world_(world) {
    for (std::uint32_t rank = 0; rank < world.edges.to.size(); ++rank) {
      parts.push_back(std::make_unique<NeighbourPart>(world.edges, rank, sizes));
      kinds.push_back(kind);
    }
  }
  lfc_coll_call at(std::uint32_t rank) const {
    return parts[rank]->call(kinds[rank], world_.neighbours[rank].get());
  }
  void open() {
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank) operations.emplace_back(at(rank));
  }
  bool run() {
    open();
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank)
      world_.communicator(rank).submit(operations[rank]);
    return world_.finish(operations);
  }
  bool is_right() const {
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank)
      if (operations[rank].status != LFC_COLL_OK || !parts[rank]->is_right()) return false;
    return true;
  }

  std::vector<std::unique_ptr<NeighbourPart>> parts;
  std::vector<lfc_coll_kind> kinds;
  std::deque<CollOperation> operations;

 private:
  NeighbourWorld& world_;
};

NeighbourPart::Sizes all_of(std::size_t size) {
  return [size](std::uint32_t, std::size_t) { return size; };
}

}  // namespace

TEST_CASE("in a grid what goes left comes from the right, also among two ranks", "[coll]") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const std::size_t size =
      GENERATE(std::size_t{0}, std::size_t{8}, std::size_t{4000}, std::size_t{100000});
  const Edges edges = Edges::ring(ranks);
  NeighbourWorld world(edges);
  for (int again = 0; again < 40; ++again) {
    Call call(world, all_of(size));
    REQUIRE(call.run());
    REQUIRE(call.is_right());
  }
}

TEST_CASE("parts that their readers may not read come through rooms of the readers", "[coll]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 8)));
  Random random(seed);
  const Edges edges = Edges::random(random, static_cast<std::uint32_t>(random.between(2, 7)));
  NeighbourWorld world(edges, seed + 1);
  world.set_readable(false);
  for (const std::size_t size : {5000, 8, 70000, 5000}) {
    Call call(world, all_of(size));
    REQUIRE(call.run());
    REQUIRE(call.is_right());
  }
}

TEST_CASE("parts of any graph arrive, in the order of its edges", "[coll]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  Random random(seed);
  const auto ranks = static_cast<std::uint32_t>(random.between(2, 7));
  const Edges edges = Edges::random(random, ranks);
  NeighbourWorld world(edges, seed + 1);
  for (int again = 0; again < 12; ++again) {
    const std::size_t most = std::array{0, 3, 8, 500, 5000, 40000}[random.below(6)];
    const std::uint64_t salt = random.below(1000);
    Call call(world, [&](std::uint32_t writer, std::size_t edge) {
      return (salt + writer * 7919 + edge * 104729) % (most + 1);
    });
    REQUIRE(call.run());
    REQUIRE(call.is_right());
  }
}

TEST_CASE("more edges than a room lists", "[coll]") {
  constexpr std::size_t kEdges = 5000;
  Edges edges;
  edges.to.resize(2);
  edges.from.resize(2);
  for (std::size_t i = 0; i < kEdges; ++i) {
    edges.to[0].push_back(i % 3 == 0 ? 0 : 1);
    edges.from[i % 3 == 0 ? 0 : 1].push_back(0);
  }
  NeighbourWorld world(edges);
  for (int again = 0; again < 3; ++again) {
    Call call(world, [](std::uint32_t, std::size_t edge) { return edge % 5; });
    REQUIRE(call.run());
    REQUIRE(call.is_right());
  }
}

TEST_CASE("an allgather among neighbours gives all the same", "[coll]") {
  const std::size_t size =
      GENERATE(std::size_t{1}, std::size_t{13}, std::size_t{9000}, std::size_t{70000});
  const Edges edges = Edges::ring(4);
  NeighbourWorld world(edges);
  for (int again = 0; again < 3; ++again) {
    Call call(world, all_of(size), LFC_COLL_NEIGHBOR_ALLGATHER);
    for (auto& part : call.parts) part->give_one(size);
    REQUIRE(call.run());
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      REQUIRE(call.operations[rank].status == LFC_COLL_OK);
      for (std::size_t edge = 0; edge < 2; ++edge)
        for (std::size_t at = 0; at < size; ++at)
          REQUIRE(call.parts[rank]->got(edge)[at] ==
                  NeighbourPart::mark(static_cast<std::uint32_t>(edges.from[rank][edge]), 0, at));
    }
  }
}

// From a blocking call without bytes Open MPI returns at once, at that rank alone.
TEST_CASE("a rank without edges need not call, and no rank waits for it", "[coll]") {
  Edges edges;
  edges.to = {{}, {2}, {1, 1}};
  edges.from = {{}, {2, 2}, {1}};
  NeighbourWorld world(edges);
  world.set_away(0, true);
  for (int again = 0; again < 100; ++again) {
    Call call(world, all_of(again % 2 == 0 ? 8 : 3000));
    call.open();
    for (std::uint32_t rank = 1; rank < 3; ++rank)
      world.communicator(rank).submit(call.operations[rank]);
    call.operations[0].finished = true;
    REQUIRE(world.finish(call.operations));
    REQUIRE(call.is_right());
  }
  world.set_away(0, false);  // its next call is not taken for one of these
  Call all(world, all_of(8));
  REQUIRE(all.run());
  REQUIRE(all.is_right());
  std::vector<CollOperation> barrier(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    barrier[rank].kind = LFC_COLL_ALLREDUCE;
    world.communicator(rank).submit(barrier[rank]);
  }
  REQUIRE(world.finish(barrier));
  for (const CollOperation& operation : barrier) REQUIRE(operation.status == LFC_COLL_OK);
}

TEST_CASE("a rank that lends a part to a neighbour stays until the part has been read", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{8}, std::size_t{3000}, std::size_t{100000});
  Edges edges;
  edges.to = {{1}, {}};
  edges.from = {{}, {0}};
  NeighbourWorld world(edges);
  const bool first = GENERATE(false, true);  // if so, readers also request the list of edges
  if (!first) REQUIRE(Call(world, all_of(8)).run());
  Call call(world, all_of(size));
  call.open();
  world.set_away(1, true);
  world.communicator(0).submit(call.operations[0]);
  for (int i = 0; i < 2000; ++i) world.step();
  const bool copied = size <= limits::kCollRow && !first;
  REQUIRE(call.operations[0].finished.load() == copied);
  if (copied) call.parts[0]->spoil();
  world.set_away(1, false);
  world.communicator(1).submit(call.operations[1]);
  REQUIRE(world.finish(call.operations));
  REQUIRE(call.is_right());
}

TEST_CASE("a part of another size than expected is an error for its reader alone", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{8}, std::size_t{3000}, std::size_t{100000});
  const std::size_t known = GENERATE(std::size_t{0}, std::size_t{2});
  const Edges edges = Edges::ring(4);
  NeighbourWorld world(edges);
  for (std::size_t before = 0; before < known; ++before) REQUIRE(Call(world, all_of(8)).run());
  Call call(world, all_of(size));
  call.parts[2] = std::make_unique<NeighbourPart>(
      edges, 2, [&](std::uint32_t writer, std::size_t) { return writer == 1 ? size - 1 : size; });
  REQUIRE(call.run());
  REQUIRE(call.operations[2].status == LFC_COLL_MISMATCH);
  for (const std::uint32_t rank : {0u, 1u, 3u}) {
    REQUIRE(call.operations[rank].status == LFC_COLL_OK);
    REQUIRE(call.parts[rank]->is_right());
  }
  Call next(world, all_of(size));
  REQUIRE(next.run());
  REQUIRE(next.is_right());
}

TEST_CASE("an allgather is not taken for an alltoall among neighbours", "[coll]") {
  const Edges edges = Edges::ring(3);
  NeighbourWorld world(edges);
  Call call(world, all_of(8));
  call.kinds[1] = LFC_COLL_NEIGHBOR_ALLGATHER;
  REQUIRE(call.run());
  for (const CollOperation& operation : call.operations)
    REQUIRE(operation.status == LFC_COLL_MISMATCH);
  Call next(world, all_of(8));
  REQUIRE(next.run());
  REQUIRE(next.is_right());
}

TEST_CASE("an edge that its writer does not know is an error", "[coll]") {
  Edges edges;
  edges.to = {{1}, {0}, {}};
  edges.from = {{1}, {0, 0}, {1}};
  NeighbourWorld world(edges);
  for (int again = 0; again < 3; ++again) {
    Call call(world, all_of(8));
    REQUIRE(call.run());
    REQUIRE(call.operations[0].status == LFC_COLL_OK);
    REQUIRE(call.operations[1].status == LFC_COLL_MISMATCH);
    REQUIRE(call.operations[2].status == LFC_COLL_MISMATCH);
  }
}

TEST_CASE("a small call among neighbours is done at once if they are there", "[coll]") {
  const Edges edges = Edges::ring(2);
  NeighbourWorld world(edges);
  REQUIRE(Call(world, all_of(8)).run());
  const auto try_at = [&](const Call& call, std::uint32_t rank) {
    return world.communicator(rank).try_at_once(call.at(rank), 3);
  };
  for (int again = 0; again < 100; ++again) {
    Call call(world, all_of(9));
    REQUIRE_FALSE(try_at(call, 0));
    REQUIRE(try_at(call, 1));
    REQUIRE(try_at(call, 0));
    for (const auto& part : call.parts) REQUIRE(part->is_right());
  }
  Call call(world, all_of(9));  // sizes that differ exclude this path
  call.parts[1] = std::make_unique<NeighbourPart>(edges, 1, all_of(8));
  REQUIRE_FALSE(try_at(call, 0));
  REQUIRE_FALSE(try_at(call, 1));
}

}  // namespace lfc
