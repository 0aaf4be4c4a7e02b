// Alltoall, and gathers and scatters of unequal blocks: the places of blocks, and how long memory is lent.
#include <array>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc::rows_test {
namespace {

constexpr std::uint32_t kRanks = 3;

std::byte mark(std::uint32_t from, std::uint32_t to, std::size_t at) {
  return static_cast<std::byte>(1 + from * 50 + to * 10 + at % 7);
}

// An alltoall: rank a sends sizes[a][b] bytes to rank b, which expects expected[a][b].
struct Alltoall {
  using Sizes = std::array<std::array<std::size_t, kRanks>, kRanks>;

  Alltoall(const Sizes& sizes, const Sizes& expected) : operations(kRanks) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (std::uint32_t other = 0; other < kRanks; ++other) {
        in_blocks[rank].push_back({in[rank].size(), sizes[rank][other]});
        for (std::size_t at = 0; at < sizes[rank][other]; ++at)
          in[rank].push_back(mark(rank, other, at));
        blocks[rank].push_back({out[rank].size(), expected[other][rank]});
        out[rank].resize(out[rank].size() + expected[other][rank] + 1);  // and a gap
      }
      CollOperation& operation = operations[rank];
      operation.kind = LFC_COLL_ALLTOALL;
      operation.in = in[rank].data();
      operation.out = out[rank].data();
      operation.in_blocks = in_blocks[rank].data();
      operation.blocks = blocks[rank].data();
    }
  }
  bool run(CollWorld& world) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      world.communicator(rank).submit(operations[rank]);
    return world.finish(operations);
  }
  bool arrived(std::uint32_t from, std::uint32_t to) const {
    const lfc_coll_block block = blocks[to][from];
    bool right = out[to][block.offset + block.bytes] == std::byte{0};
    for (std::size_t at = 0; at < block.bytes; ++at)
      right = right && out[to][block.offset + at] == mark(from, to, at);
    return right;
  }

  std::vector<CollOperation> operations;
  std::array<std::vector<std::byte>, kRanks> in, out;
  std::array<std::vector<lfc_coll_block>, kRanks> in_blocks, blocks;
};

}  // namespace

TEST_CASE("blocks of an alltoall arrive whatever their size", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                    std::size_t{4097}, std::size_t{40000}, std::size_t{200000});
  Alltoall::Sizes sizes{};
  for (std::uint32_t from = 0; from < kRanks; ++from)
    for (std::uint32_t to = 0; to < kRanks; ++to) sizes[from][to] = size * ((from + to) % 3) / 2;
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  for (int again = 0; again < 3; ++again) {
    Alltoall all(sizes, sizes);
    REQUIRE(all.run(world));
    for (std::uint32_t from = 0; from < kRanks; ++from) {
      REQUIRE(all.operations[from].status == LFC_COLL_OK);
      for (std::uint32_t to = 0; to < kRanks; ++to) REQUIRE(all.arrived(from, to));
    }
  }
}

TEST_CASE("blocks that their readers may not read come through rooms of the readers", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{4097}, std::size_t{65536}, std::size_t{200001});
  Alltoall::Sizes sizes{};
  for (std::uint32_t from = 0; from < kRanks; ++from)
    for (std::uint32_t to = 0; to < kRanks; ++to) sizes[from][to] = size * (1 + from + to);
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  for (int again = 0; again < 40; ++again) {
    world.set_readable(again % 8 == 7);
    Alltoall first(sizes, sizes), second(sizes, sizes);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      world.communicator(rank).submit(first.operations[rank]);
    REQUIRE(second.run(world));
    REQUIRE(world.finish(first.operations));
    for (const Alltoall* all : {&first, &second}) {
      for (std::uint32_t from = 0; from < kRanks; ++from) {
        REQUIRE(all->operations[from].status == LFC_COLL_OK);
        for (std::uint32_t to = 0; to < kRanks; ++to) REQUIRE(all->arrived(from, to));
      }
    }
  }
}

TEST_CASE("a block of another size than expected is an error for its reader alone", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{8}, std::size_t{50000});
  const std::uint32_t from = GENERATE(0u, 2u);
  Alltoall::Sizes sizes{};
  for (auto& row : sizes) row.fill(size);
  Alltoall::Sizes expected = sizes;
  expected[from][2] = size - GENERATE(std::size_t{1}, std::size_t{0});
  const bool differs = expected[from][2] != size;
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  Alltoall all(sizes, expected);
  REQUIRE(all.run(world));
  REQUIRE(all.operations[2].status == (differs ? LFC_COLL_MISMATCH : LFC_COLL_OK));
  for (std::uint32_t to = 0; to < 2; ++to) {
    REQUIRE(all.operations[to].status == LFC_COLL_OK);
    for (std::uint32_t other = 0; other < kRanks; ++other) REQUIRE(all.arrived(other, to));
  }
  Alltoall next(sizes, sizes);
  REQUIRE(next.run(world));
  REQUIRE(next.operations[2].status == LFC_COLL_OK);
}

TEST_CASE("a rank that lends its memory stays until it has been read", "[coll]") {
  const std::size_t size = GENERATE(std::size_t{64}, std::size_t{100000});
  CollWorld world({.ranks = 2, .per_node = 2});
  std::vector<std::byte> in(size, std::byte{7});
  std::vector<std::byte> out(size);
  const std::array<lfc_coll_block, 2> blocks{{{0, 0}, {0, size}}};
  std::vector<CollOperation> operations(2);
  for (CollOperation& operation : operations) operation.kind = LFC_COLL_GATHERV;
  operations[0].out = out.data();
  operations[0].blocks = blocks.data();
  operations[1].in = in.data();
  operations[1].bytes = size;
  world.communicator(1).submit(operations[1]);
  world.set_away(0, true);
  for (int i = 0; i < 2000; ++i) world.step();
  const bool copied = size <= limits::kCollRow;
  REQUIRE(operations[1].finished.load() == copied);
  if (copied) std::fill(in.begin(), in.end(), std::byte{9});
  world.set_away(0, false);
  world.communicator(0).submit(operations[0]);
  REQUIRE(world.finish(operations));
  REQUIRE(out == std::vector<std::byte>(size, std::byte{7}));
}

}  // namespace lfc::rows_test
