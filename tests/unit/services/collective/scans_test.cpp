// Scans: each rank gets the contributions up to its own, combined in the order of ranks.
#include <cstring>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

// One scan of all ranks of a node, with the hosts' times drawn from the seed.
class Scans {
 public:
  Scans(CollWorld& world, std::uint32_t ranks, lfc_coll_kind kind, std::size_t count, bool in_place)
      : world_(world), in_(ranks), out_(ranks), operations_(ranks), kind_(kind), count_(count) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      in_[rank] = order_dependent_numbers(rank, count);
      out_[rank] = in_place ? in_[rank] : std::vector<double>(count, kUntouched);
      out_[rank].push_back(kUntouched);  // no byte behind the buffer is written
      CollOperation& operation = operations_[rank];
      operation.kind = kind;
      operation.in = in_place ? out_[rank].data() : in_[rank].data();
      operation.out = out_[rank].data();
      operation.bytes = count * sizeof(double);
      operation.op = LFC_OP_SUM;
      operation.type = LFC_ELEMENT_F64;
    }
  }
  void run(std::uint64_t seed) {
    Random random(seed);
    for (std::uint32_t number = 0; number < operations_.size(); ++number) {
      // In both orders, so that some ranks find the lower contributions already there.
      const auto rank = seed % 2 == 0 ? number : operations_.size() - 1 - number;
      for (std::uint64_t late = random.below(200); late > 0; --late) world_.step();
      CollOperation& operation = operations_[rank];
      Communicator& communicator = world_.communicator(static_cast<std::uint32_t>(rank));
      operation.finished = communicator.try_at_once(operation, 1);
      if (!operation.finished) communicator.submit(operation);
    }
    REQUIRE(world_.finish(operations_));
    for (const CollOperation& operation : operations_) REQUIRE(operation.status == LFC_COLL_OK);
  }
  bool right(std::uint32_t rank) const {
    const std::uint32_t end = rank + (kind_ == LFC_COLL_SCAN ? 1 : 0);
    if (out_[rank][count_] != kUntouched) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      double sum = end == 0 ? out_[rank][i] : in_[0][i];
      for (std::uint32_t lower = 1; lower < end; ++lower) sum += in_[lower][i];
      if (out_[rank][i] != sum) return false;
    }
    return true;
  }

 private:
  static constexpr double kUntouched = 0.5;
  CollWorld& world_;
  std::vector<std::vector<double>> in_, out_;
  std::vector<CollOperation> operations_;
  lfc_coll_kind kind_;
  std::size_t count_;
};

}  // namespace

TEST_CASE("a scan combines in the order of ranks, whichever comes first", "[coll]") {
  const std::uint32_t ranks = GENERATE(2u, 3u, 8u);
  const lfc_coll_kind kind = GENERATE(LFC_COLL_SCAN, LFC_COLL_EXSCAN);
  const bool in_place = GENERATE(false, true);
  CollWorld world({.ranks = ranks, .per_node = ranks});
  // Inline, few bytes, a chunk, and so many bytes that slots are used again.
  for (const std::size_t count : {1u, 7u, 200u, 2000u, 4096u, 60000u}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(ranks, static_cast<int>(kind), in_place, count, seed);
      Scans scans(world, ranks, kind, count, in_place);
      scans.run(seed);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) REQUIRE(scans.right(rank));
    }
  }
}

}  // namespace lfc
