// Operations of one communicator of coll lfc that advance side by side.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

using Kind = lfc_coll_kind;

struct Told {
  Kind kind;
  int root;
  std::size_t bytes;
};

// The same calls at all ranks. The test decides when each rank makes a call; a rank waits for none.
class Beside {
 public:
  Beside(const CollWorld::Shape& shape, std::vector<Told> calls)
      : world(shape),
        ranks_(shape.ranks),
        calls_(std::move(calls)),
        parts_(calls_.size() * ranks_) {}

  void call(std::uint32_t rank) {
    const std::size_t number = begun_[rank]++;
    const Told& told = calls_.at(number);
    Part& part = parts_[number * ranks_ + rank];
    part.in.resize(told.bytes);
    part.out.assign(told.bytes * (told.kind == LFC_COLL_ALLGATHER ? ranks_ : 1), std::byte{0});
    for (std::size_t at = 0; at < told.bytes; ++at) part.in[at] = given(number, rank, at);
    CollOperation& operation = part.operation;
    operation.kind = told.kind;
    operation.root = told.root;
    operation.in = part.in.data();
    operation.out = part.out.data();
    operation.bytes = told.bytes;
    operation.op = LFC_OP_SUM;
    operation.type = LFC_ELEMENT_U8;
    world.communicator(rank).submit(operation);
  }
  void call_all(std::uint32_t rank) {
    while (begun_[rank] < calls_.size()) call(rank);
  }
  CollOperation& at(std::size_t number, std::uint32_t rank) {
    return parts_[number * ranks_ + rank].operation;
  }
  bool over(std::size_t number, std::uint32_t rank) { return at(number, rank).finished.load(); }
  bool over_at(std::size_t number, std::initializer_list<std::uint32_t> ranks) {
    return std::all_of(ranks.begin(), ranks.end(), [&](auto rank) { return over(number, rank); });
  }
  void call_everywhere() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) call_all(rank);
  }
  // From now on the hosts compute, and only the NIs' threads advance operations.
  void leave_to_threads() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) world.set_away(rank, true);
    world.set_helped(true);
  }
  bool all_right(std::size_t first = 0) const {
    for (std::size_t number = first; number < calls_.size(); ++number)
      for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        if (!is_right(number, rank)) return false;
    return true;
  }
  // Gives each host one look. True: all operations are over.
  bool look_once() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) world.communicator(rank).advance();
    return run(0);
  }
  bool run(int ticks = 200000) {
    const auto all = [&] {
      return std::all_of(parts_.begin(), parts_.end(),
                         [](const Part& part) { return part.operation.finished.load(); });
    };
    while (!all() && ticks-- > 0) world.step();
    return all();
  }
  void check() {
    for (std::size_t number = 0; number < calls_.size(); ++number)
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        INFO("call " << number << " at " << rank);
        REQUIRE(at(number, rank).status == LFC_COLL_OK);
        REQUIRE(is_right(number, rank));
      }
  }
  bool is_right(std::size_t number, std::uint32_t rank) const {
    const Told& told = calls_[number];
    const auto root = static_cast<std::uint32_t>(told.root);
    if (rank == root ? told.kind == LFC_COLL_BCAST : told.kind == LFC_COLL_REDUCE) return true;
    const std::vector<std::byte>& out = parts_[number * ranks_ + rank].out;
    if (told.kind == LFC_COLL_ALLGATHER) {
      for (std::size_t at = 0; at < out.size(); ++at)
        if (const auto from = static_cast<std::uint32_t>(at / told.bytes);
            out[at] != given(number, from, at % told.bytes))
          return false;
      return true;
    }
    for (std::size_t at = 0; at < told.bytes; ++at) {
      unsigned sum = 0;
      for (std::uint32_t from = 0; from < ranks_; ++from)
        if (told.kind != LFC_COLL_BCAST || from == root)
          sum += std::to_integer<unsigned>(given(number, from, at));
      if (out[at] != static_cast<std::byte>(sum)) return false;
    }
    return true;
  }

  CollWorld world;

 private:
  struct Part {
    std::vector<std::byte> in, out;
    CollOperation operation;
  };
  static std::byte given(std::size_t number, std::uint32_t rank, std::size_t at) noexcept {
    return static_cast<std::byte>((number * 7 + rank * 3 + at) % 19);
  }

  const std::uint32_t ranks_;
  const std::vector<Told> calls_;
  std::vector<Part> parts_;
  std::map<std::uint32_t, std::size_t> begun_;
};

std::vector<CollWorld::Shape> shapes() {
  return {{.ranks = 4, .per_node = 4, .seed = 3},   // one node
          {.ranks = 4, .per_node = 1, .seed = 4},   // a rank on each
          {.ranks = 6, .per_node = 2, .seed = 5}};  // several nodes, several ranks
}

}  // namespace

TEST_CASE("an operation that one rank is late for holds up no other", "[coll]") {
  for (const CollWorld::Shape& shape : shapes())
    for (const std::size_t bytes : {8, 700}) {
      INFO(shape.ranks << " ranks, " << shape.per_node << " on a node, " << bytes << " bytes");
      // The first is complete at all ranks. The last rank is late for the second.
      Beside it(shape, {{LFC_COLL_ALLREDUCE, 0, 8},
                        {LFC_COLL_ALLREDUCE, 0, bytes},
                        {LFC_COLL_BCAST, 0, bytes},
                        {LFC_COLL_BCAST, 1, bytes},
                        {LFC_COLL_ALLREDUCE, 0, bytes}});
      const std::uint32_t late = shape.ranks - 1;
      for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) it.call(rank);
      for (std::uint32_t rank = 0; rank < late; ++rank) it.call_all(rank);
      const auto both = [&] { return it.over_at(2, {0, 1, 2}) && it.over_at(3, {0, 1, 2}); };
      for (int ticks = 0; ticks < 20000 && !both(); ++ticks) it.world.step();
      REQUIRE(both());
      for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
        REQUIRE((!it.over(1, rank) && !it.over(4, rank)));
      it.call_all(late);
      REQUIRE(it.run());
      it.check();
    }
}

TEST_CASE("the NI's thread takes operations further while all hosts are away", "[coll]") {
  for (const CollWorld::Shape& shape : shapes())
    for (const std::size_t bytes : {0, 8, 700, 3000}) {
      INFO(shape.ranks << " ranks, " << shape.per_node << " on a node, " << bytes << " bytes");
      const std::vector<Told> calls{{LFC_COLL_ALLREDUCE, 0, bytes},
                                    {LFC_COLL_BCAST, 1, bytes + 1},
                                    {LFC_COLL_REDUCE, 2, bytes + 1},
                                    {LFC_COLL_ALLREDUCE, 0, 8}};
      Beside it(shape, calls);
      // No rank begins before the first barrier of a communicator of several nodes.
      for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) it.call(rank);
      const auto first_is_over = [&] {
        for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
          if (!it.over(0, rank)) return false;
        return true;
      };
      while (!first_is_over()) it.world.step();
      it.call_everywhere();
      it.leave_to_threads();
      for (int ticks = 0; ticks < 20000 && !it.all_right(1); ++ticks) it.world.step();
      REQUIRE(it.all_right(1));
      REQUIRE(!it.over(3, 0));  // only the host reports the completion
      for (int ticks = 0; ticks < 1000; ++ticks) it.world.step();
      REQUIRE(it.look_once());
      it.check();
    }
}

TEST_CASE("the NI's thread begins operations behind fences while all hosts are away", "[coll]") {
  // The broadcast and the reduction do not fit into one window.
  constexpr CollOptions kOptions{.packet = 512, .window = 4096};
  const Told barrier{LFC_COLL_ALLREDUCE, 0, 0};
  const std::vector<Told> kinds{{LFC_COLL_BCAST, 1, 1200},
                                {LFC_COLL_REDUCE, 2, 1200},
                                {LFC_COLL_ALLREDUCE, 0, 1200},
                                barrier};
  for (CollWorld::Shape shape : shapes()) {
    shape.options = kOptions;
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
      INFO(shape.ranks << " ranks, " << shape.per_node << " on a node, order " << order[0]
                       << order[1] << order[2] << order[3]);
      const std::vector<Told> calls{kinds[order[0]], kinds[order[1]], kinds[order[2]],
                                    kinds[order[3]]};
      Beside it(shape, calls);
      it.call_everywhere();
      std::uint64_t steps = 0;
      for (std::size_t number = 0; number < calls.size(); ++number) steps += it.at(number, 0).steps;
      // Each barrier that LFC inserts has two steps.
      const std::uint64_t inserted = (it.at(3, 0).end() - steps) / 2;
      REQUIRE(inserted == (shape.per_node == shape.ranks ? 0u : order[0] == 3 ? 1u : 2u));
      it.leave_to_threads();
      for (int ticks = 0; ticks < 20000 && !it.all_right(); ++ticks) it.world.step();
      REQUIRE(it.all_right());
      for (int ticks = 0; ticks < 1000; ++ticks) it.world.step();
      REQUIRE(it.look_once());
      it.check();
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("the NI's thread begins what was called before the board of its node came", "[coll]") {
  constexpr std::uint32_t kRanks = 6;
  // Barriers among nodes do not overlap: each begins when the one before it is over.
  Beside it({.ranks = kRanks, .per_node = 2, .seed = 5},
            std::vector<Told>(4, {LFC_COLL_ALLREDUCE, 0, 0}));
  it.world.set_boards_late(true);
  it.call_everywhere();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const int before = it.world.board_looks(rank);
    it.world.communicator(rank).advance();
    REQUIRE(it.world.board_looks(rank) == before + 1);  // one look for all four calls
  }
  it.world.set_boards_late(false);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) it.world.communicator(rank).advance();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) REQUIRE(!it.over(0, rank));
  it.leave_to_threads();
  for (int ticks = 0; ticks < 20000; ++ticks) it.world.step();
  REQUIRE(it.look_once());
  it.check();
}

TEST_CASE("the NI's thread begins nothing behind an operation that only the host may begin",
          "[coll]") {
  for (CollWorld::Shape shape : shapes())
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      shape.seed = seed;
      INFO(shape.ranks << " ranks, " << shape.per_node << " on a node, seed " << seed);
      Beside it(shape, {{LFC_COLL_ALLREDUCE, 0, 8},
                        {LFC_COLL_ALLGATHER, 0, 8},
                        {LFC_COLL_BCAST, 1, 700},
                        {LFC_COLL_ALLREDUCE, 0, 8}});
      it.call_everywhere();
      it.leave_to_threads();
      for (int ticks = 0; ticks < 3000; ++ticks) it.world.step();
      for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) it.world.set_away(rank, false);
      REQUIRE(it.run());
      it.check();
    }
}

TEST_CASE("an operation that ends before an older one frees no place on the board", "[coll]") {
  for (const std::size_t bytes : {8, 500}) {
    std::vector<Told> calls{{LFC_COLL_ALLREDUCE, 0, 8}};
    for (int i = 0; i < 100; ++i) calls.push_back({LFC_COLL_BCAST, i % 2, bytes});
    Beside it({.ranks = 3, .per_node = 3, .seed = bytes}, calls);
    it.call_all(0);
    it.call_all(1);
    for (int ticks = 0; ticks < 3000; ++ticks) it.world.step();
    // A slot is not overwritten before the late rank has read it.
    const std::uint64_t places = bytes <= Board::kInline ? limits::kCollSlots : limits::kCollRooms;
    std::uint64_t over = 0;
    for (std::size_t number = 1; number < calls.size(); ++number)
      over += it.over(number, 1) ? 1 : 0;
    CHECK(over == std::min(places, limits::kCollBeside) - 1);
    it.call_all(2);
    REQUIRE(it.run());
    it.check();
  }
}

TEST_CASE("concurrent operations among nodes wait for ranks that are late", "[coll]") {
  constexpr CollOptions kOptions{.packet = 512, .window = 8192};
  constexpr std::uint32_t kLate = 2;
  // More calls of each kind than a rank may be ahead.
  std::vector<Told> calls;
  calls.reserve(180);
  for (int i = 0; i < 60; ++i) calls.push_back({LFC_COLL_ALLREDUCE, 0, 512});
  for (int i = 0; i < 60; ++i)
    calls.push_back({i % 3 == 0 ? LFC_COLL_REDUCE : LFC_COLL_BCAST, i % 2, 512});
  for (int i = 0; i < 60; ++i) calls.push_back({LFC_COLL_ALLREDUCE, 0, i % 2 == 0 ? 0u : 64u});
  std::rotate(calls.begin(), calls.begin() + 30, calls.end());
  Beside it({.ranks = 3, .seed = 11, .options = kOptions}, calls);
  for (std::uint32_t rank = 0; rank < 3; ++rank) it.call(rank);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    if (rank != kLate) it.call_all(rank);
  }
  for (int ticks = 0; ticks < 3000; ++ticks) it.world.step();
  std::uint64_t said = 0;
  for (std::size_t number = 1; number < calls.size(); ++number)
    if (calls[number].kind == LFC_COLL_ALLREDUCE) said += it.at(number, 0).written;
  CHECK(said == std::min(limits::kCollAhead, limits::kCollBeside));
  // The late rank makes its calls, and then makes progress only at times.
  it.call_all(kLate);
  for (int turns = 0; turns < 20000 && !it.over(calls.size() - 1, kLate); ++turns) {
    it.world.set_away(kLate, turns % 50 != 0);
    for (int ticks = 0; ticks < 10; ++ticks) it.world.step();
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      REQUIRE(it.world.multicast(rank).stats().stored <= kOptions.window);
  }
  it.world.set_away(kLate, false);
  REQUIRE(it.run());
  it.check();
}

TEST_CASE("a large operation is over when all its pieces are", "[coll]") {
  constexpr CollOptions kOptions{.packet = 512, .window = 8192};
  // Blocks of a little more than one window, two windows, and three.
  for (const std::size_t bytes : {7168, 7176, 7680, 8192, 14336, 15000, 24000}) {
    INFO(bytes);
    Beside it({.ranks = 3, .seed = bytes, .options = kOptions},
              {{LFC_COLL_ALLREDUCE, 0, 8}, {LFC_COLL_BCAST, 0, bytes}, {LFC_COLL_BCAST, 1, 100}});
    for (std::uint32_t rank = 0; rank < 3; ++rank) it.call_all(rank);
    while (!it.over(1, 2)) it.world.step();
    REQUIRE(it.is_right(1, 2));
    REQUIRE(it.run());
    it.check();
  }
}

}  // namespace lfc
