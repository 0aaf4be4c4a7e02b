// Bounds: how far ranks of coll lfc run ahead of one that computes, and how many packets its NI stores.
#include <cstring>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

using Kind = lfc_coll_kind;

constexpr std::uint32_t kRanks = 3;
constexpr CollOptions kOptions{.packet = 512, .window = 8192, .fan = 1};

std::vector<std::byte> content(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  Random random(seed);
  for (auto& byte : out) byte = static_cast<std::byte>(random.below(50));
  return out;
}

// `count` operations of this many bytes, one after the other. Rank `away` makes no progress as long as the others need
// none.
void run(Kind kind, std::size_t bytes, int count, std::uint32_t away) {
  CollWorld world({.ranks = kRanks, .seed = bytes + away, .options = kOptions});
  const std::vector<std::byte> in = content(bytes, bytes);
  std::vector<std::vector<std::byte>> out;
  std::vector<std::unique_ptr<CollOperation>> operations;
  world.set_away(away, true);
  for (int number = 0; number < count; ++number) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      CollOperation& operation = *operations.emplace_back(std::make_unique<CollOperation>());
      operation.kind = kind;
      operation.root = 0;
      operation.in = in.data();
      operation.out = out.emplace_back(bytes).data();
      operation.bytes = bytes;
      operation.op = LFC_OP_SUM;
      operation.type = LFC_ELEMENT_U8;
      if (rank != away) world.communicator(rank).submit(operation);
    }
  }
  for (int ticks = 0; ticks < 3000; ++ticks) world.step();
  // Rank `away` has not entered the first barrier, so no rank is past it.
  CHECK(world.multicast(away).stats().most_stored <= 2 * MulticastPacket::kCost);
  for (int number = 0; number < count; ++number)
    world.communicator(away).submit(*operations[static_cast<std::size_t>(number) * kRanks + away]);
  const auto over = [&] {
    return std::all_of(operations.begin(), operations.end(),
                       [](const auto& operation) { return operation->finished.load(); });
  };
  // It makes progress only at times, so that the others get as far ahead as they may.
  for (int turns = 0; !over() && turns < 20000; ++turns) {
    world.set_away(away, turns % 100 != 0);
    for (int ticks = 0; ticks < 10; ++ticks) world.step();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      REQUIRE(world.multicast(rank).stats().stored <= kOptions.window);
  }
  REQUIRE(over());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    REQUIRE(operations[i]->status == LFC_COLL_OK);
    const std::uint32_t rank = i % kRanks;
    if (rank == 0 && kind == LFC_COLL_BCAST) continue;  // the root has it
    if (rank != 0 && kind == LFC_COLL_REDUCE) continue;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      const int sum = std::to_integer<int>(in[byte]) * (kind == LFC_COLL_REDUCE ? 3 : 1);
      REQUIRE(std::to_integer<int>(out[i][byte]) == sum);
    }
  }
}

}  // namespace

TEST_CASE("no rank is more than a window ahead of a rank that is away", "[coll]") {
  // At most 7 packets of 512 bytes and their overhead fit into a window.
  for (const std::size_t bytes : {1, 511, 3583, 3584, 3585, 7168, 7169, 30000})
    for (const Kind kind : {LFC_COLL_BCAST, LFC_COLL_REDUCE})
      for (const std::uint32_t away : {1u, 2u}) {
        INFO(bytes << " bytes, " << static_cast<int>(kind) << ", away " << away);
        run(kind, bytes, bytes < 10000 ? 12 : 3, away);
      }
}

}  // namespace lfc
