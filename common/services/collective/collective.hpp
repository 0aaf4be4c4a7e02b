// Collective: what the ranks of a communicator do for one kind of call: a row of kCollectives, with its functions
// in a file of algorithms/.
//
//   const Collective& collective = collective_of(operation.kind);
//   while (!collective.walk(state, operation)) ...;     // again when something may have moved
//
// All ranks cut an operation into the same steps (prepare()) and number them alike. One node: everything
// goes over the board. Several: on each node one rank, the leader, stands for all; contributions meet on
// the board, the leader's NI combines them up the tree, and results are multicast to the NIs of the leaders,
// which write them onto their boards.
//
//   operation  | steps for each chunk | who writes the lane of the step
//   bcast      | 1                    | the root; on other nodes the leader's NI
//   reduce     | 1                    | all but the leader (which is the root on its node)
//   allreduce  | 1, direct            | all; everybody combines everything: two ranks, or few bytes
//              | 2, one node          | all; then each combines a part, and writes that
//              | 2, several nodes     | all but the leader; then the leader's NI, the result
//   barrier    | an allreduce of no bytes
//   allgather  | 1, one node          | all
//   gather     | 1, one node          | all but the root
//   scatter    | 1, one node          | the root, for all
//   (ex)scan   | 1, one node          | all; of many bytes all but the last rank
//   alltoall   | 2 in all, one node   | all: where their blocks lie; then who has read all
//   the same   | 2, several nodes     | all; then the leader, what has come from other nodes
//   reduce-sc. | 2 in all             | all; then, of several nodes, the leader: what has come from them
//   gatherv    | the same             | all but the root; then the root
//   scatterv   | the same             | the root; then all but the root
//   neighbours | steps and boards of their own (neighbourhood.hpp)
//
// Another collective: a row of lfc/collectives.def, a file like algorithms/scans.cpp, and the MPI call (mca/coll).
// Threads: the caller serialises each CommunicatorState.
#pragma once

#include <array>
#include <cstdint>

#include "services/collective/communicator_state.hpp"
#include "services/collective/protocol/traits.hpp"

namespace lfc {

struct Collective {
  // As far as it goes without waiting. True: it is over here.
  bool (*walk)(CommunicatorState& state, CollOperation& operation);
  // Does it on one node, in this step, if the others are there within so many looks. False: nothing has
  // been done that walk() would not do again. Null: it is never so short.
  bool (*at_once)(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
                  unsigned looks) = nullptr;
  CollectiveTraits traits{};
};

// NOLINTNEXTLINE(bugprone-macro-parentheses): it is a name
#define LFC_COLLECTIVE(kind, name, functions, combines) extern const Collective functions;
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
// By lfc_coll_kind.
inline constexpr std::array kCollectives{
#define LFC_COLLECTIVE(kind, name, functions, combines) &(functions),
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
};

inline const Collective& collective_of(lfc_coll_kind kind) noexcept { return *kCollectives[kind]; }
inline const CollectiveTraits& traits_of(const lfc_coll_call& call) noexcept {
  return collective_of(call.kind).traits;
}

// --- What several of them do ---

// This rank's chunks, into its lane.
bool write_all(CommunicatorState& state, CollOperation& operation);
// The chunks of the result, out of a lane, or where the NI has placed them.
bool read_results(CommunicatorState& state, CollOperation& operation, std::uint32_t lane);
// This rank's and its neighbours' parts of one chunk, combined; in `target`, unless there is nothing to combine.
const std::byte* combine_local(CommunicatorState& state, const CollOperation& operation,
                               std::uint64_t index, std::uint64_t step, std::byte* target);
// Of how many ranks blocks can be told on a board.
std::uint32_t most_in_row() noexcept;
// Waits a little for a lane's flag.
inline bool await_at_once(const Board& board, std::uint32_t lane, std::uint64_t step,
                          std::uint64_t flag, unsigned& looks) noexcept {
  while (board.flag(lane, step).load(std::memory_order_acquire) != flag)
    if (looks-- == 0) return false;
  return true;
}
// Of an operation of one step, in which so many bytes lie in a lane.
inline Label label_at_once(const lfc_coll_call& call, std::size_t size) noexcept {
  return {CollOperation::label_kind(call.kind, 1),
          false,
          true,
          CollOperation::label_what(call),
          static_cast<std::uint32_t>(call.root),
          static_cast<std::uint32_t>(size)};
}

}  // namespace lfc
