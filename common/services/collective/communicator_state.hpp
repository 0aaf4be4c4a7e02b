// CommunicatorState: what one rank needs for the collectives of one communicator: its ranks (ranks.hpp), the board of
// its node, the place of its NI in the trees among nodes, and the reason of a failure.
//
//   bool walk(CommunicatorState& state, CollOperation& operation) {                  // one collective: collective.hpp
//     ...
//     if (!state.others_ready(operation, step, label)) return false;
//     state.write(step, bytes, label);
//     state.finish(operation, step); ... }
//
// Threads: the caller serialises, except failure() and end().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "services/collective/lent_memory.hpp"
#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/environment.hpp"
#include "services/collective/protocol/operation.hpp"
#include "services/collective/protocol/ranks.hpp"
#include "services/collective/tree_node.hpp"

namespace lfc {

class CommunicatorState : public Ranks, public LentMemory {
 public:
  // `ranks`: the rank of each member. `tree` is null when all ranks share a node.
  CommunicatorState(Membership membership, std::uint32_t self, std::vector<std::uint32_t> ranks,
                    std::uint64_t key, std::unique_ptr<TreeNode> tree, Environment& environment,
                    lfc_coll_use use = LFC_COLL_COMMUNICATOR);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  // --- The operation's tree ---

  bool is_top(const CollOperation& operation) const noexcept { return operation.top == self(); }
  // Whether this rank is its node's leader in the operation's tree.
  bool is_leader(const CollOperation& operation) const noexcept {
    return members().in_tree(operation.top, self());
  }

  // --- The board of this node ---

  Board& board() noexcept { return board_; }
  const Board& board() const noexcept { return board_; }
  bool has_board() const noexcept { return board_.is_open(); }
  // Opens the board. False: it is not there yet. A rank alone on its node needs none.
  bool open_board();
  // Whether there is room for the board that this rank will make or map, if it needs one.
  bool has_room() const noexcept { return has_room_; }
  // Whether the lane is ready in this step. Compares the labels; if they differ, the operation is marked, and the
  // lane's payload may have another length than `label` has. Both lie within the room.
  bool is_ready(CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                Label label) noexcept;
  bool others_ready(CollOperation& operation, std::uint64_t step, Label label) noexcept;
  void write(std::uint64_t step, const std::byte* bytes, Label label) noexcept;
  // Marks the step as over at this rank. The board publishes it when all earlier steps are over.
  void finish(CollOperation& operation, std::uint64_t step) noexcept {
    operation.over_to = step + 1;
    if (&operation == oldest_) board_.finish(step + 1);
    operation.moved = true;
  }
  // Sets the oldest operation that is not over: all steps before its own are over.
  void set_oldest(const CollOperation& operation) noexcept { oldest_ = &operation; }
  // Publishes that the steps below `to` are over; some ended before those of an older operation.
  void catch_up(std::uint64_t to) noexcept {
    if (board_.is_open() && failure() == LFC_COLL_OK) board_.finish(to);
  }
  // Whether this node may send its part of an allreduce already: other nodes store it.
  bool may_contribute(std::uint64_t step) const noexcept {
    return step < oldest_->over_to + 2 * limits::kCollAhead;
  }
  // The board of the rank with this lane, for neighbours; null: not there yet. `users`: number of ranks that attach to
  // this rank's own one.
  std::byte* neighbour_board(std::uint32_t lane, std::uint32_t users);
  // Room for one chunk.
  std::byte* scratch();

  // --- Other nodes ---

  // Null: there are none.
  TreeNode* tree() noexcept { return tree_.get(); }
  const TreeNode* tree() const noexcept { return tree_.get(); }
  // Hands over the tree. From then on the NI writes nothing onto the board.
  std::unique_ptr<TreeNode> take_tree() noexcept;
  // Gives the tree the peer of a root; it may not have been connected before.
  void know(std::uint32_t member);

  // --- Failure ---

  // The reason why no operation goes on here; LFC_COLL_OK: there is none.
  lfc_coll_status failure() const noexcept;
  void end(Board::End how) noexcept;
  // Notifies the other ranks and nodes, so that they do not wait for this rank.
  void spread_failure();
  // Notes that the ranks' calls differ. `for_good`: the number of their steps differs as well.
  void disagree(CollOperation& operation, bool for_good) noexcept;
  // Called when the operation has waited for long: queries whether others wait in another one.
  void query(CollOperation& operation);

 private:
  template <class>
  friend struct Insight;  // lfc-look
  // A board that is reserved until it is opened.
  struct Reserved {
    ProcessName first;
    std::uint64_t key;
    std::uint32_t lanes;
  };
  // The process that makes the board of this node.
  ProcessName first() const { return members().name(members().first(members().node(self()))); }
  std::optional<Reserved> board_to_reserve(lfc_coll_use use) const;
  const std::uint64_t key_;
  std::unique_ptr<TreeNode> tree_;
  Environment& environment_;
  const std::optional<Reserved> reserved_;  // none: it needs no board
  const bool has_room_;
  Board board_;
  bool board_failed_ = false;
  std::vector<std::byte> scratch_;
  const CollOperation* oldest_ = nullptr;
  std::atomic<Board::End> end_ = Board::End::none;
};

}  // namespace lfc
