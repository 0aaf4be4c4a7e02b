// Reductions of coll lfc: the order in which contributions are combined.
#include <cstring>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"
#include "services/collective/protocol/partial.hpp"

namespace lfc {
namespace {

using Kind = lfc_coll_kind;

std::span<const std::byte> bytes_of(const std::vector<double>& numbers) {
  return std::as_bytes(std::span(numbers));
}

// The results of all ranks of one reduction, with the hosts' times drawn from the seed.
std::vector<std::vector<double>> reduce(const CollWorld::Shape& shape, Kind kind,
                                        std::size_t count) {
  CollWorld world(shape);
  std::vector<std::vector<double>> in;
  std::vector<std::vector<double>> out(shape.ranks, std::vector<double>(count));
  std::vector<CollOperation> operations(shape.ranks);
  Random random(shape.seed * 31);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
    in.push_back(order_dependent_numbers(rank, count));
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    CollOperation& operation = operations[rank];
    operation.kind = kind;
    operation.root = static_cast<int>(kind == LFC_COLL_REDUCE ? shape.ranks / 2 : 0);
    operation.in = bytes_of(in[rank]).data();
    operation.out = std::as_writable_bytes(std::span(out[rank])).data();
    operation.bytes = count * sizeof(double);
    operation.op = LFC_OP_SUM;
    operation.type = LFC_ELEMENT_F64;
    for (std::uint64_t late = random.below(200); late > 0; --late) world.step();
    world.communicator(rank).submit(operation);
  }
  REQUIRE(world.finish(operations));
  for (const CollOperation& operation : operations) REQUIRE(operation.status == LFC_COLL_OK);
  return out;
}

}  // namespace

TEST_CASE("the parts of a node are combined in one order however they come", "[coll]") {
  const Combiner add = number_combiner({Accumulate::sum, Element::f64});
  constexpr std::uint32_t kChildren = 4;
  std::vector<std::vector<double>> parts;
  for (std::uint32_t part = 0; part <= kChildren; ++part)
    parts.push_back(order_dependent_numbers(part, 5));
  std::vector<double> expected = parts[1];
  for (std::uint32_t part = 2; part <= kChildren; ++part)
    for (std::size_t i = 0; i < 5; ++i) expected[i] += parts[part][i];
  for (std::size_t i = 0; i < 5; ++i) expected[i] = parts[0][i] + expected[i];

  std::vector<std::uint32_t> order{0, 1, 2, 3, 4};
  do {
    Partial partial(kChildren);
    for (std::size_t i = 0; i <= kChildren; ++i) {
      const Partial::Added added =
          partial.add(order[i], bytes_of(parts[order[i]]), add, sizeof(double));
      REQUIRE(added == (i == kChildren ? Partial::Added::whole : Partial::Added::more));
    }
    REQUIRE(partial.bytes().size() == 5 * sizeof(double));
    REQUIRE(std::memcmp(partial.bytes().data(), expected.data(), partial.bytes().size()) == 0);
  } while (std::next_permutation(order.begin(), order.end()));

  Partial partial(1);
  REQUIRE(partial.add(Partial::kOwn, bytes_of(parts[0]), add, 8) == Partial::Added::more);
  REQUIRE(partial.add(Partial::kOwn, bytes_of(parts[0]), add, 8) == Partial::Added::wrong);
  REQUIRE(partial.add(Partial::child(1), bytes_of(parts[0]), add, 8) == Partial::Added::wrong);
  REQUIRE(partial.add(Partial::child(0), bytes_of(order_dependent_numbers(1, 4)), add, 8) ==
          Partial::Added::differs);
  REQUIRE(partial.add(Partial::child(0), bytes_of(parts[1]), add, 8) == Partial::Added::whole);
}

TEST_CASE("reductions of floating-point numbers are the same from call to call", "[coll]") {
  const std::uint32_t per_node = GENERATE(1u, 2u, 4u);
  const Kind kind = GENERATE(LFC_COLL_ALLREDUCE, LFC_COLL_REDUCE);
  for (const std::size_t count : {std::size_t{1}, std::size_t{300}}) {
    const CollWorld::Shape shape{
        .ranks = 8, .per_node = per_node, .options = {.packet = 512, .fan = 3}};
    std::vector<std::vector<double>> first;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CollWorld::Shape other = shape;
      other.seed = seed;
      const auto results = reduce(other, kind, count);
      if (seed == 1) first = results;
      for (std::uint32_t rank = 0; rank < 8; ++rank) {
        CAPTURE(seed, rank, count);
        REQUIRE(std::memcmp(results[rank].data(), first[rank].data(), count * sizeof(double)) == 0);
        if (kind == LFC_COLL_ALLREDUCE) REQUIRE(results[rank] == results[0]);
      }
    }
  }
}

TEST_CASE("an operation done at once has as many steps as a queued one", "[coll]") {
  // So many ranks that all contributions together exceed the limit of few bytes.
  constexpr std::uint32_t kRanks = 300;
  constexpr std::size_t kBytes = Board::kInline;
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  std::vector<std::byte> in(kBytes, std::byte{1});
  std::vector<std::vector<std::byte>> out(kRanks, std::vector<std::byte>(kBytes));
  for (int round = 0; round < 2; ++round) {  // the first one opens the boards
    std::vector<CollOperation> operations(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      CollOperation& operation = operations[rank];
      operation.kind = LFC_COLL_ALLREDUCE;
      operation.in = in.data();
      operation.out = out[rank].data();
      operation.bytes = kBytes;
      operation.op = LFC_OP_SUM;
      operation.type = LFC_ELEMENT_U8;
      operation.finished = world.communicator(rank).try_at_once(operation, 1);
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (!operations[rank].finished) world.communicator(rank).submit(operations[rank]);
    REQUIRE(world.finish(operations, 20000));
    for (const CollOperation& operation : operations) REQUIRE(operation.status == LFC_COLL_OK);
    for (const auto& result : out) REQUIRE(result[kBytes - 1] == std::byte{kRanks & 0xff});
  }
}

}  // namespace lfc
