// Collective: the algorithm of one kind of call, as a row of kCollectives. Its functions are in a file of algorithms/.
//
//   const Collective& collective = collective_of(operation.kind);
//   while (!collective.walk(state, operation)) ...;     // again when something may have moved
//
// All ranks cut an operation into the same steps (plan()) and number them alike. On one node all bytes go over the
// board. Among several, one rank of each node, the leader, sends for all. It reads contributions from the board, its NI
// combines them up the tree, and results are multicast to the NIs of the leaders, which write them onto their boards.
//
//   operation  | steps for each chunk | who writes the lane of the step
//   bcast      | 1                    | the root; on other nodes the leader's NI
//   reduce     | 1                    | all but the leader (which is the root on its node)
//   allreduce  | 1, direct            | all; each combines all lanes: two ranks, or few bytes
//              | 2, one node          | all; then each combines a part, and writes that
//              | 2, several nodes     | all but the leader; then the leader's NI, the result
//   barrier    | an allreduce of no bytes
//   allgather  | 1, one node          | all
//   gather     | 1, one node          | all but the root
//   scatter    | 1, one node          | the root, for all
//   (ex)scan   | 1, one node          | all; of many bytes all but the last rank
//   alltoall   | 2 in all, one node   | all: the places of their blocks; then that all is read
//   alltoall   | 2, several nodes     | all; then the leader, the blocks from other nodes
//   reduce-sc. | 2 in all             | all; then, among several nodes, the leader: their blocks
//   gatherv    | 2 in all             | all but the root; then the root
//   scatterv   | 2 in all             | the root; then all but the root
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
  // Advances the operation as far as possible without waiting. True: it is over at this rank.
  bool (*walk)(CommunicatorState& state, CollOperation& operation);
  // Does the call on one node, in this step, if the other ranks' flags are seen within so many looks. False: walk()
  // repeats all that was done. Null: the kind has no such short path.
  bool (*at_once)(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
                  unsigned looks) = nullptr;
  CollectiveTraits traits{};
};

// NOLINTNEXTLINE(bugprone-macro-parentheses): it is a name
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) \
  extern const Collective functions;
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
// By lfc_coll_kind.
inline constexpr std::array kCollectives{
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) &(functions),
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
};

inline const Collective& collective_of(lfc_coll_kind kind) noexcept { return *kCollectives[kind]; }
inline const CollectiveTraits& traits_of(const lfc_coll_call& call) noexcept {
  return collective_of(call.kind).traits;
}

// --- Parts that several algorithms share ---

// Writes this rank's chunks into its lane. True: all are written.
bool write_all(CommunicatorState& state, CollOperation& operation);
// Reads the chunks of the result out of a lane, or counts those that the NI has placed. True: all are there.
bool read_results(CommunicatorState& state, CollOperation& operation, std::uint32_t lane);
// Combines this rank's and its local peers' parts of one chunk in `target`, and returns the sum; without local peers or
// bytes it returns the rank's own part.
const std::byte* combine_local(CommunicatorState& state, const CollOperation& operation,
                               std::uint64_t index, std::uint64_t step, std::byte* target);
// The largest number of ranks whose blocks a row on a board can describe.
std::uint32_t most_in_row() noexcept;
// Polls a lane's flag up to `looks` times. False: it has not been set.
inline bool await_at_once(const Board& board, std::uint32_t lane, std::uint64_t step,
                          std::uint64_t flag, unsigned& looks) noexcept {
  while (board.flag(lane, step).load(std::memory_order_acquire) != flag)
    if (looks-- == 0) return false;
  return true;
}
// The label of an operation of one step with `size` bytes in a lane.
inline Label label_at_once(const lfc_coll_call& call, std::size_t size) noexcept {
  return {CollOperation::label_kind(call.kind, 1),
          false,
          true,
          CollOperation::label_what(call),
          static_cast<std::uint32_t>(call.root),
          static_cast<std::uint32_t>(size)};
}

}  // namespace lfc
