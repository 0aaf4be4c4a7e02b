// Ranks that call a collective with other counts or roots: an error at the ranks that detect it, and no endless wait.
#include <cstring>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

using Kind = lfc_coll_kind;
using Status = lfc_coll_status;

// The calls of the ranks. Each has buffers of its own size, with a guard behind them.
struct Calls {
  explicit Calls(CollWorld& of, std::uint32_t ranks)
      : world(of), operations(ranks), memory(ranks) {}
  void call(std::uint32_t rank, Kind kind, std::size_t bytes, std::uint32_t root = 0) {
    const bool one = kind < LFC_COLL_ALLGATHER || kind == LFC_COLL_SCAN || kind == LFC_COLL_EXSCAN;
    const std::size_t blocks = one ? 1 : operations.size();
    memory[rank].assign(2 * bytes * blocks + kGuard, std::byte{0x5a});
    CollOperation& operation = operations[rank];
    operation.kind = kind;
    operation.root = static_cast<int>(root);
    operation.bytes = bytes;
    operation.in = memory[rank].data();
    operation.out = memory[rank].data() + bytes * blocks;
    operation.op = LFC_OP_BOR;
    operation.type = LFC_ELEMENT_U8;
  }
  bool run() {
    for (std::uint32_t rank = 0; rank < operations.size(); ++rank)
      world.communicator(rank).submit(operations[rank]);
    return world.finish(operations);
  }
  bool guarded() const {
    for (const auto& bytes : memory)
      for (std::size_t i = bytes.size() - kGuard; i < bytes.size(); ++i)
        if (bytes[i] != std::byte{0x5a}) return false;
    return true;
  }

  static constexpr std::size_t kGuard = 64;
  CollWorld& world;
  std::vector<CollOperation> operations;
  std::vector<std::vector<std::byte>> memory;
};

Status barrier(CollWorld& world, std::uint32_t ranks, std::uint32_t rank) {
  Calls calls(world, ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) calls.call(i, LFC_COLL_ALLREDUCE, 0);
  REQUIRE(calls.run());
  return calls.operations[rank].status;
}

}  // namespace

TEST_CASE("labels differ if sizes, roots, kinds or ends differ", "[coll]") {
  const Label label{.kind = 3, .last = true, .root = 5, .size = 56};
  REQUIRE(Label::of(label.word(), 56) == label);
  for (const Label other : {Label{.kind = 2, .last = true, .root = 5, .size = 56},
                            Label{.kind = 3, .last = false, .root = 5, .size = 56},
                            Label{.kind = 3, .last = true, .root = 6, .size = 56},
                            Label{.kind = 3, .last = true, .root = 5, .size = 55},
                            Label{.kind = 3, .last = true, .root = 5, .size = 57},
                            Label{.kind = 3, .wrong = true, .last = true, .root = 5, .size = 56}}) {
    REQUIRE(other.digest() != label.digest());
    REQUIRE(other.word() != label.word());
  }
  REQUIRE(Label{.size = 57}.word() != Label{.size = 58}.word());
}

TEST_CASE("labels of all kinds of collectives differ in words and digests", "[coll]") {
  std::set<std::uint64_t> words, digests;
  for (std::uint8_t kind = 0; kind < Label::kKinds; ++kind) {
    for (const std::uint8_t what : std::initializer_list<std::uint8_t>{0, 1, 127}) {
      const Label label{.kind = kind, .what = what, .root = 3, .size = 56};
      REQUIRE(Label::of(label.word(), 56) == label);
      REQUIRE(label.digest() >> Label::kDigestBits == 0);
      REQUIRE(Label::same_walk(label.digest(), Label{.root = 3}.digest()) == (kind == 0));
      words.insert(label.word());
      digests.insert(label.digest());
    }
  }
  CHECK(words.size() == 3 * Label::kKinds);
  CHECK(digests.size() == words.size());
}

TEST_CASE("a size that differs on a node is detected by its reader", "[coll]") {
  constexpr std::uint32_t kRanks = 3;
  // Less than, as much as and more than the inline bytes, a room, and a chunk.
  const std::size_t here = GENERATE(std::size_t{8}, std::size_t{56}, std::size_t{57},
                                    std::size_t{20000}, std::size_t{40000}, std::size_t{200000});
  const std::size_t there = GENERATE(std::size_t{4}, std::size_t{57}, std::size_t{58},
                                     std::size_t{19999}, std::size_t{199999}, std::size_t{300000});
  const Kind kind =
      GENERATE(LFC_COLL_BCAST, LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE, LFC_COLL_ALLGATHER,
               LFC_COLL_GATHER, LFC_COLL_SCATTER, LFC_COLL_SCAN, LFC_COLL_EXSCAN);
  if (here == there) return;
  CAPTURE(here, there, static_cast<int>(kind));
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  Calls calls(world, kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    calls.call(rank, kind, rank == 1 ? there : here);
  REQUIRE(calls.run());
  REQUIRE(calls.guarded());
  const bool root_reads = kind == LFC_COLL_REDUCE || kind == LFC_COLL_GATHER;
  const bool all_read = kind == LFC_COLL_ALLREDUCE || kind == LFC_COLL_ALLGATHER;
  const bool scans = kind == LFC_COLL_SCAN || kind == LFC_COLL_EXSCAN;  // from lower ranks
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    CAPTURE(rank);
    if (scans ? rank > 0 : all_read || rank == (root_reads ? 0 : 1))
      REQUIRE(calls.operations[rank].status == LFC_COLL_MISMATCH);
  }
  // The communicator stays usable if all ranks have counted the same steps.
  const Status after = barrier(world, kRanks, 0);
  REQUIRE((after == LFC_COLL_OK || after == LFC_COLL_MISMATCH));
  const bool direct = here * kRanks <= limits::kCollDirect;
  const bool as_direct = (there * kRanks <= limits::kCollDirect) == direct;
  if (here <= 20000 && there <= 20000 && kind != LFC_COLL_SCATTER &&
      (kind != LFC_COLL_ALLREDUCE || as_direct))
    REQUIRE(after == LFC_COLL_OK);
  for (std::uint32_t rank = 1; rank < kRanks; ++rank)
    REQUIRE(barrier(world, kRanks, rank) == after);
}

TEST_CASE("another root or another call on a node is an error for all", "[coll]") {
  CollWorld world({.ranks = 3, .per_node = 3});
  Calls calls(world, 3);
  const bool another_root = GENERATE(true, false);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    if (another_root)
      calls.call(rank, LFC_COLL_BCAST, 100, rank == 2 ? 1 : 0);
    else
      calls.call(rank, rank == 2 ? LFC_COLL_GATHER : LFC_COLL_ALLGATHER, 100);
  }
  REQUIRE(calls.run());
  // In a gather only the root reads, so the other ranks do not detect it.
  REQUIRE(calls.operations[another_root ? 2 : 1].status == LFC_COLL_MISMATCH);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    REQUIRE(barrier(world, 3, rank) == LFC_COLL_MISMATCH);
}

TEST_CASE("a scan and an exscan on a node are an error for all", "[coll]") {
  const std::size_t bytes = GENERATE(std::size_t{8}, std::size_t{4000}, std::size_t{100000});
  CAPTURE(bytes);
  CollWorld world({.ranks = 3, .per_node = 3});
  Calls calls(world, 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    calls.call(rank, rank == 1 ? LFC_COLL_EXSCAN : LFC_COLL_SCAN, bytes);
  REQUIRE(calls.run());
  REQUIRE(calls.guarded());
  for (std::uint32_t rank = 1; rank < 3; ++rank)
    REQUIRE(calls.operations[rank].status == LFC_COLL_MISMATCH);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    REQUIRE(barrier(world, 3, rank) == LFC_COLL_MISMATCH);
}

TEST_CASE("sizes that differ among nodes are an error for all", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u);
  const Kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE);
  // Some sizes have equal chunks but another number of them.
  const std::size_t there = GENERATE(std::size_t{8}, std::size_t{1020}, std::size_t{1024},
                                     std::size_t{2048}, std::size_t{1536});
  const std::size_t here = 1025 - GENERATE(std::size_t{0}, std::size_t{1});
  if (there == here) return;
  CAPTURE(per_node, static_cast<int>(kind), here, there);
  constexpr std::uint32_t kRanks = 4;
  CollWorld world({.ranks = kRanks, .per_node = per_node});
  Calls calls(world, kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    calls.call(rank, kind, rank == 2 ? there : here);
  // Trees depend on sizes: the root of a reduction may wait until the others go on to the next call. That call runs at
  // the same time, so it may complete before a rank detects the mismatch.
  Calls barriers(world, kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    barriers.call(rank, LFC_COLL_ALLREDUCE, 0);
    world.communicator(rank).submit(calls.operations[rank]);
    world.communicator(rank).submit(barriers.operations[rank]);
  }
  REQUIRE(world.finish(calls.operations));
  REQUIRE(world.finish(barriers.operations));
  REQUIRE(calls.guarded());
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    REQUIRE(barrier(world, kRanks, rank) != LFC_COLL_OK);
}

TEST_CASE("a rank whose bytes cannot be packed makes the call among nodes fail where they are read",
          "[coll]") {
  constexpr std::uint32_t kRanks = 4;
  const std::uint32_t per_node = GENERATE(1u, 2u);
  const std::size_t bytes = GENERATE(std::size_t{32}, std::size_t{400});
  const Kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE);
  // The root of a broadcast, another rank of a reduction, or any rank of an allreduce.
  const std::uint32_t wrong = GENERATE(0u, 1u, 2u, 3u);
  if ((kind == LFC_COLL_BCAST && wrong != 0) || (kind == LFC_COLL_REDUCE && wrong == 0)) return;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(per_node, bytes, static_cast<int>(kind), wrong, seed);
    CollWorld world({.ranks = kRanks, .per_node = per_node, .seed = seed});
    Calls calls(world, kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) calls.call(rank, kind, bytes);
    calls.operations[wrong].differs.store(true);  // as with lfc_coll_call::mismatch
    REQUIRE(calls.run());
    REQUIRE(calls.guarded());
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (kind != LFC_COLL_REDUCE || rank == 0 || rank == wrong)
        REQUIRE(calls.operations[rank].status == LFC_COLL_MISMATCH);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      REQUIRE(barrier(world, kRanks, rank) == LFC_COLL_MISMATCH);
  }
}

TEST_CASE("blocks of different sizes in an exchange among nodes are an error for all", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u);
  const Kind kind = GENERATE(LFC_COLL_ALLGATHER, LFC_COLL_ALLTOALL, LFC_COLL_REDUCE_SCATTER);
  const std::size_t there = GENERATE(std::size_t{8}, std::size_t{16}, std::size_t{64});
  constexpr std::uint32_t kRanks = 4;
  constexpr std::size_t kHere = 16;
  CAPTURE(per_node, static_cast<int>(kind), there);
  CollWorld world({.ranks = kRanks, .per_node = per_node});
  Calls calls(world, kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    REQUIRE(world.communicator(rank).exchanges(kind, 64));
    calls.call(rank, kind, rank == 2 ? there : kHere);
  }
  REQUIRE(calls.run());
  REQUIRE(calls.guarded());
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    REQUIRE(barrier(world, kRanks, rank) == (there == kHere ? LFC_COLL_OK : LFC_COLL_MISMATCH));
}

TEST_CASE("an exchange and another call among nodes are an error for all", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u);
  const Kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_ALLREDUCE, LFC_COLL_ALLGATHER);
  CAPTURE(per_node, static_cast<int>(kind));
  constexpr std::uint32_t kRanks = 4;
  CollWorld world({.ranks = kRanks, .per_node = per_node});
  Calls calls(world, kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    calls.call(rank, rank / per_node == 1 ? kind : LFC_COLL_ALLTOALL, 16);
  REQUIRE(calls.run());
  REQUIRE(calls.guarded());
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    REQUIRE(barrier(world, kRanks, rank) == LFC_COLL_MISMATCH);
}

TEST_CASE("another operation or type of the same size is noticed", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u, 4u);
  const std::size_t bytes = GENERATE(std::size_t{8}, std::size_t{4000});
  const lfc_coll_kind kind = GENERATE(LFC_COLL_REDUCE, LFC_COLL_ALLREDUCE, LFC_COLL_SCAN);
  if (kind == LFC_COLL_SCAN && per_node < 4) return;
  const bool another_type = GENERATE(true, false);
  CAPTURE(per_node, bytes, static_cast<int>(kind), another_type);
  CollWorld world({.ranks = 4, .per_node = per_node});
  Calls calls(world, 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) calls.call(rank, kind, bytes);
  if (another_type)
    calls.operations[2].type = LFC_ELEMENT_I8;
  else
    calls.operations[2].op = LFC_OP_SUM;
  REQUIRE(calls.run());
  // In a reduction on one node only the root reads; in a scan the higher ranks read.
  REQUIRE(calls.operations[kind == LFC_COLL_SCAN ? 2 : 0].status == LFC_COLL_MISMATCH);
  if (kind == LFC_COLL_ALLREDUCE)
    for (const auto& operation : calls.operations) REQUIRE(operation.status == LFC_COLL_MISMATCH);
}

TEST_CASE("ranks that wait for each other in different calls notice it", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u, 3u);
  const std::uint32_t away = GENERATE(1u, 2u);
  const lfc_coll_kind kind = GENERATE(LFC_COLL_REDUCE, LFC_COLL_BCAST, LFC_COLL_ALLREDUCE);
  CAPTURE(per_node, away, static_cast<int>(kind));
  constexpr std::uint32_t kRanks = 3;
  CollWorld world({.ranks = kRanks, .per_node = per_node});
  Calls calls(world, kRanks);
  // Each rank takes itself or its neighbour for the root, so no data passes between them.
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    calls.call(rank, rank == 2 ? kind : LFC_COLL_REDUCE, 100,
               rank == 2 ? (kind == LFC_COLL_ALLREDUCE ? 0 : (kind == LFC_COLL_BCAST ? 0 : 2)) : 0);
  world.set_away(away, true);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    if (rank != away) world.communicator(rank).submit(calls.operations[rank]);
  for (int ticks = 0; ticks < 5000; ++ticks) world.step();
  world.set_away(away, false);
  world.communicator(away).submit(calls.operations[away]);
  REQUIRE(world.finish(calls.operations));
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    INFO("rank " << rank);
    // A rank that only sends may complete before the mismatch is detected.
    CHECK(calls.operations[rank].status != LFC_COLL_LOST);
    CHECK(barrier(world, kRanks, rank) == LFC_COLL_MISMATCH);
  }
}

TEST_CASE("ranks with different calls on other nodes get a mismatch and no loss", "[coll]") {
  constexpr std::uint32_t kRanks = 6;
  const lfc_coll_kind kind = GENERATE(LFC_COLL_BCAST, LFC_COLL_ALLREDUCE);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed, static_cast<int>(kind));
    CollWorld world({.ranks = kRanks, .per_node = 2, .seed = seed});
    Calls calls(world, kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      calls.call(rank, kind, rank == 4 ? 96 : 104);
    REQUIRE(calls.run());
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      CHECK(calls.operations[rank].status != LFC_COLL_LOST);
      CHECK(barrier(world, kRanks, rank) == LFC_COLL_MISMATCH);
    }
  }
}

TEST_CASE("a packet smaller than one element holds one", "[coll]") {
  CollOperation operation(
      {.kind = LFC_COLL_ALLREDUCE, .bytes = 80, .op = LFC_OP_SUM, .type = LFC_ELEMENT_F64});
  plan(operation, collective_of(operation.kind).traits, {.nodes = 2}, {.packet = 4});
  CHECK(operation.chunk == 8);
  CHECK(operation.chunks == 10);
}

}  // namespace lfc
