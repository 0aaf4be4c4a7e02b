// Remote memory: each atomic in both widths, and operations that cannot be forged.
#include "engine/remote_memory.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

constexpr AtomicOp kOps[] = {AtomicOp::add,     AtomicOp::bit_and,     AtomicOp::bit_or,
                             AtomicOp::bit_xor, AtomicOp::swap,        AtomicOp::min,
                             AtomicOp::max,     AtomicOp::compare_swap};

// The meaning of the operation, written independently of the implementation.
template <class Signed, class Unsigned>
Unsigned meaning(const AtomicRequest& request, Unsigned old) {
  const auto operand = static_cast<Unsigned>(request.operand);
  const auto less = [](Unsigned a, Unsigned b) {
    return static_cast<Signed>(a) < static_cast<Signed>(b);
  };
  switch (request.op) {
    case AtomicOp::add: return static_cast<Unsigned>(old + operand);
    case AtomicOp::bit_and: return old & operand;
    case AtomicOp::bit_or: return old | operand;
    case AtomicOp::bit_xor: return old ^ operand;
    case AtomicOp::swap: return operand;
    case AtomicOp::min: return less(operand, old) ? operand : old;
    case AtomicOp::max: return less(old, operand) ? operand : old;
    case AtomicOp::compare_swap:
      return old == static_cast<Unsigned>(request.compare) ? operand : old;
  }
  return old;
}

template <class Signed, class Unsigned>
void check_op(AtomicRequest request, Unsigned start) {
  request.width = sizeof(Unsigned);
  alignas(8) Unsigned memory[3] = {0x5a, start, 0x5a};
  const std::uint64_t old = apply_atomic(request, &memory[1]);
  INFO("op " << static_cast<int>(request.op) << " width " << int{request.width} << " of " << start
             << " with " << request.operand << " compare " << request.compare);
  REQUIRE(old == start);  // zero-extended
  REQUIRE(memory[1] == (meaning<Signed, Unsigned>(request, start)));
  REQUIRE(memory[0] == 0x5a);
  REQUIRE(memory[2] == 0x5a);
}

}  // namespace

TEST_CASE("every atomic operation has the right result in both widths", "[remote_memory]") {
  const std::uint64_t values[] = {0,
                                  1,
                                  2,
                                  0x7fffffffu,
                                  0x80000000u,
                                  0xffffffffu,
                                  0x100000000u,
                                  0x7fffffffffffffffu,
                                  0x8000000000000000u,
                                  0xffffffffffffffffu};
  for (const AtomicOp op : kOps)
    for (const std::uint64_t start : values)
      for (const std::uint64_t operand : values)
        for (const std::uint64_t compare : {start, operand, ~start}) {
          const AtomicRequest request{op, 8, operand, compare};
          check_op<std::int64_t, std::uint64_t>(request, start);
          check_op<std::int32_t, std::uint32_t>(request, static_cast<std::uint32_t>(start));
        }
}

TEST_CASE("min and max compare as signed integers", "[remote_memory]") {
  std::int64_t wide = 3;
  REQUIRE(apply_atomic({AtomicOp::min, 8, static_cast<std::uint64_t>(-7)}, &wide) == 3);
  REQUIRE(wide == -7);
  apply_atomic({AtomicOp::max, 8, 2}, &wide);
  REQUIRE(wide == 2);
  std::int32_t narrow = -1;
  REQUIRE(apply_atomic({AtomicOp::min, 4, 5}, &narrow) == 0xffffffffu);
  REQUIRE(narrow == -1);
  apply_atomic({AtomicOp::max, 4, 0xffffffff00000005u}, &narrow);  // the upper half is ignored
  REQUIRE(narrow == 5);
}

TEST_CASE("atomics of several threads lose nothing", "[remote_memory]") {
  constexpr int kThreads = 4;
  constexpr int kEach = 20000;
  alignas(8) std::int64_t sum = 0;
  alignas(8) std::int64_t largest = 0;
  alignas(8) std::int64_t turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        apply_atomic({AtomicOp::add, 8, 1}, &sum);
        apply_atomic({AtomicOp::max, 8, static_cast<std::uint64_t>(t * kEach + i)}, &largest);
        for (;;) {  // an increment by compare-and-swap
          const std::uint64_t old = apply_atomic({AtomicOp::add, 8, 0}, &turns);
          if (apply_atomic({AtomicOp::compare_swap, 8, old + 1, old}, &turns) == old) break;
        }
      }
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(sum == kThreads * kEach);
  REQUIRE(turns == kThreads * kEach);
  REQUIRE(largest == kThreads * kEach - 1);
}

TEST_CASE("an operation is found by its reference and its peer only", "[remote_memory]") {
  RemoteOpTable table;
  RemoteOp& op = table.take();
  op.peer = 3;
  const OperationRef reference = RemoteOpTable::reference(op);
  REQUIRE(table.find(reference, 3) == &op);
  REQUIRE(table.find(reference, 4) == nullptr);
  REQUIRE(table.find({reference.index, reference.generation + 1}, 3) == nullptr);
  REQUIRE(table.find({reference.index, reference.generation + 2}, 3) == nullptr);
  REQUIRE(table.find({reference.index + 1, reference.generation}, 3) == nullptr);
  REQUIRE(table.find({0xffffffffu, reference.generation}, 3) == nullptr);
  REQUIRE(table.find({reference.index, 0}, 3) == nullptr);

  table.give_back(op);
  REQUIRE(table.find(reference, 3) == nullptr);
  REQUIRE(table.find({reference.index, reference.generation + 1}, 3) == nullptr);

  RemoteOp& again = table.take();
  again.peer = 3;
  REQUIRE(&again == &op);  // the slot is used again, and the old reference stays invalid
  REQUIRE(table.find(reference, 3) == nullptr);
  REQUIRE(table.find(RemoteOpTable::reference(again), 3) == &again);
}

TEST_CASE("the table keeps operations apart and in place", "[remote_memory]") {
  Random random(6);
  RemoteOpTable table;
  std::vector<RemoteOp*> live;
  std::vector<OperationRef> dead;
  for (int round = 0; round < 20000; ++round) {
    if (live.size() < 100 && (live.empty() || random.chance(510))) {
      RemoteOp& op = table.take();
      REQUIRE(std::find(live.begin(), live.end(), &op) == live.end());
      REQUIRE(op.stage == RemoteOp::Stage::waiting);
      REQUIRE(op.offset == 0);
      op.peer = static_cast<PeerId>(random.below(4));
      op.offset = 99;
      op.stage = RemoteOp::Stage::finished;
      live.push_back(&op);
    } else {
      const auto at = static_cast<std::ptrdiff_t>(random.below(live.size()));
      dead.push_back(RemoteOpTable::reference(*live[static_cast<std::size_t>(at)]));
      table.give_back(*live[static_cast<std::size_t>(at)]);
      live.erase(live.begin() + at);
    }
    for (RemoteOp* op : live)
      if (table.find(RemoteOpTable::reference(*op), op->peer) != op) FAIL("an operation got lost");
    const OperationRef old = dead.empty() ? OperationRef{0, 0} : dead[random.below(dead.size())];
    for (PeerId peer = 0; peer < 4; ++peer)
      if (table.find(old, peer) != nullptr) FAIL("a finished operation was found");
    if (round % 100 == 0) {
      std::set<RemoteOp*> seen;
      table.for_each([&](RemoteOp& op) { seen.insert(&op); });
      REQUIRE(seen == std::set<RemoteOp*>(live.begin(), live.end()));
    }
  }
}

}  // namespace lfc
