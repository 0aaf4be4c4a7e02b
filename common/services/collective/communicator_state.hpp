// CommunicatorState: what one rank needs for the collectives of one communicator: its ranks (ranks.hpp), the board of
// its node, the place of its NI in the trees among nodes, and the reason of a failure.
//
//   bool walk(CommunicatorState& state, CollOperation& operation) {                  // one collective: collective.hpp
//     ...
//     if (!state.others_ready(operation, step, label)) return false;
//     state.write(step, bytes, label);
//     state.finish(operation, step);
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

#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/environment.hpp"
#include "services/collective/protocol/operation.hpp"
#include "services/collective/protocol/ranks.hpp"
#include "services/collective/tree_node.hpp"

namespace lfc {

class CommunicatorState : public Ranks {
 public:
  // `ranks`: by member, the rank that it is. `tree` is null when all ranks share a node.
  CommunicatorState(Membership membership, std::uint32_t self, std::vector<std::uint32_t> ranks,
                    std::uint64_t key, std::unique_ptr<TreeNode> tree, Environment& environment,
                    lfc_coll_use use = LFC_COLL_COMMUNICATOR);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  // --- The operation's tree ---

  bool is_top(const CollOperation& operation) const noexcept { return operation.top == self(); }
  // Whether this rank stands for its node in the operation's tree.
  bool is_leader(const CollOperation& operation) const noexcept {
    return members().in_tree(operation.top, self());
  }

  // --- The board of this node ---

  Board& board() noexcept { return board_; }
  const Board& board() const noexcept { return board_; }
  bool has_board() const noexcept { return board_.is_open(); }
  // False: it is not there yet. A rank alone on its node needs none.
  bool open_board();
  // Whether there is room for the board that this rank will make, if it makes one.
  bool has_room() const noexcept { return has_room_; }
  // Ready or not, its label is compared: what is in the lane may be no more than this label says, but lies
  // within the room.
  bool is_ready(CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                Label label) noexcept;
  bool others_ready(CollOperation& operation, std::uint64_t step, Label label) noexcept;
  void write(std::uint64_t step, const std::byte* bytes, Label label) noexcept;
  // This rank has done all that it has to in this step. The board hears of it when all steps before are over.
  void finish(CollOperation& operation, std::uint64_t step) noexcept {
    operation.over_to = step + 1;
    if (&operation == oldest_) board_.finish(step + 1);
    operation.moved = true;
  }
  // Of the operations that are not over the one that began first: all steps before its own are over.
  void set_oldest(const CollOperation& operation) noexcept { oldest_ = &operation; }
  // Steps below `to` are over, which have ended before those of an older operation.
  void catch_up(std::uint64_t to) noexcept {
    if (board_.is_open() && failure() == LFC_COLL_OK) board_.finish(to);
  }
  // Whether this node may say its part of an allreduce already: others store it.
  bool may_contribute(std::uint64_t step) const noexcept {
    return step < oldest_->over_to + 2 * limits::kCollAhead;
  }
  // The board of the rank with this lane, for its neighbours; null: not there yet. `users` are those of this rank's.
  std::byte* neighbour_board(std::uint32_t lane, std::uint32_t users);
  // Copies from the memory of the rank that has this lane. False: that is lost.
  bool read(std::uint32_t lane, std::byte* to, std::uint64_t from, std::size_t size) {
    return environment_.read(members().name(local()[lane]), to, from, size);
  }
  // Room for one chunk.
  std::byte* scratch();

  // --- Other nodes ---

  // Null: there are none.
  TreeNode* tree() noexcept { return tree_.get(); }
  const TreeNode* tree() const noexcept { return tree_.get(); }
  std::unique_ptr<TreeNode> take_tree() noexcept { return std::move(tree_); }
  // The root's connection, which may not have been needed before.
  void know(std::uint32_t member);

  // --- Failure ---

  // Why nothing goes on here any more; LFC_COLL_OK: it does.
  lfc_coll_status failure() const noexcept;
  void end(Board::End how) noexcept;
  // Nobody else may wait for what does not come from here.
  void spread_failure();
  // The ranks' calls are not the same. `for_good`: nor is the number of their steps.
  void disagree(CollOperation& operation, bool for_good) noexcept;
  // The operation has waited for long: asks whether others wait in another one.
  void ask(CollOperation& operation);

 private:
  template <class>
  friend struct Insight;  // lfc-look
  bool makes_board() const noexcept { return lanes() > 1 && lane() == 0; }
  std::optional<std::uint64_t> key_to_reserve(lfc_coll_use use) const noexcept;
  const std::uint64_t key_;
  std::unique_ptr<TreeNode> tree_;
  Environment& environment_;
  const std::optional<std::uint64_t> reserved_;  // key of the board that this rank will make
  const bool has_room_;
  Board board_;
  bool board_failed_ = false;
  std::vector<std::byte> scratch_;
  const CollOperation* oldest_ = nullptr;
  std::atomic<Board::End> end_ = Board::End::none;
};

}  // namespace lfc
