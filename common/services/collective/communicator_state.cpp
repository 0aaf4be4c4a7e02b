#include "services/collective/communicator_state.hpp"

#include <cstring>

namespace lfc {
namespace {

Board::End end_of(MulticastReason reason) noexcept {
  switch (reason) {
    case MulticastReason::loss: return Board::End::lost;
    case MulticastReason::disagreement: return Board::End::disagreement;
    case MulticastReason::revocation: return Board::End::revoked;
  }
  return Board::End::lost;
}

Board::End end_of(lfc_coll_status failure) noexcept {
  switch (failure) {
    case LFC_COLL_MISMATCH: return Board::End::disagreement;
    case LFC_COLL_REVOKED: return Board::End::revoked;
    default: return Board::End::lost;
  }
}

MulticastReason reason_of(Board::End end) noexcept {
  switch (end) {
    case Board::End::disagreement: return MulticastReason::disagreement;
    case Board::End::revoked: return MulticastReason::revocation;
    default: return MulticastReason::loss;
  }
}

}  // namespace

CommunicatorState::CommunicatorState(Membership membership, std::uint32_t self,
                                     std::vector<std::uint32_t> ranks, std::uint64_t key,
                                     std::unique_ptr<TreeNode> tree, Environment& environment,
                                     lfc_coll_use use)
    : Ranks(std::move(membership), self, std::move(ranks)),
      LentMemory(environment),
      key_(key),
      tree_(std::move(tree)),
      environment_(environment),
      reserved_(board_to_reserve(use)),
      has_room_(!reserved_ ||
                environment_.reserve_board(reserved_->first, reserved_->key, reserved_->lanes,
                                           use != LFC_COLL_COMMUNICATOR)) {}

CommunicatorState::~CommunicatorState() {
  // Without effect if the board was opened.
  if (reserved_) environment_.cancel_board(reserved_->first, reserved_->key);
  // First the tree: its NI writes onto the board, which another communicator gets once all ranks have detached.
  tree_.reset();
  if (board_.is_open()) board_.detach();
}

std::unique_ptr<TreeNode> CommunicatorState::take_tree() noexcept {
  if (tree_ != nullptr) tree_->set_board({});
  return std::move(tree_);
}

// --- The ranks of this node ---

// A group for neighbours' requests opens no board of the group, but one of each rank.
std::optional<CommunicatorState::Reserved> CommunicatorState::board_to_reserve(
    lfc_coll_use use) const {
  if (use == LFC_COLL_NEIGHBOUR_REQUEST) return Reserved{members().name(self()), ~key_, 1};
  if (lanes() == 1) return std::nullopt;
  return Reserved{first(), key_, lanes()};
}

bool CommunicatorState::open_board() {
  if (lanes() == 1 || board_.is_open()) return true;
  std::byte* const memory = environment_.board(first(), key_, lanes(), lanes(), board_failed_);
  if (memory == nullptr) return false;
  board_ = Board(memory, lanes(), lane());
  if (tree_ != nullptr) tree_->set_board(board_);
  return true;
}

std::byte* CommunicatorState::neighbour_board(std::uint32_t lane, std::uint32_t users) {
  return environment_.board(members().name(local()[lane]), ~key_, 1, users, board_failed_);
}

bool CommunicatorState::is_ready(CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                                 Label label) noexcept {
  const std::atomic<std::uint64_t>& flag = board_.flag(lane, step);
  if (board_.ready(lane, step)) {
    if (!board_.agrees(lane, step, label))
      disagree(operation, !Label::same_walk(flag.load(std::memory_order_relaxed), label.digest()));
    return true;
  }
  // Its rank has passed another root, or has made another call.
  if (board_.passed(lane, step) && !board_.ready(lane, step)) disagree(operation, true);
  operation.flag_value.store(Board::flag_of(step, label), std::memory_order_relaxed);
  operation.flag.store(&flag, std::memory_order_relaxed);
  return false;
}

bool CommunicatorState::others_ready(CollOperation& operation, std::uint64_t step,
                                     Label label) noexcept {
  for (std::uint32_t lane = 0; lane < lanes(); ++lane)
    if (lane != this->lane() && !is_ready(operation, lane, step, label)) return false;
  return true;
}

void CommunicatorState::write(std::uint64_t step, const std::byte* bytes, Label label) noexcept {
  if (label.size > 0 && !label.wrong)
    std::memcpy(board_.room(lane(), step, label.size), bytes, label.size);
  board_.publish(lane(), step, label);
}

std::byte* CommunicatorState::scratch() {
  if (scratch_.empty()) scratch_.resize(Board::kRoom);
  return scratch_.data();
}

// --- Other nodes ---

void CommunicatorState::know(std::uint32_t member) {
  if (member == self() || !members().in_tree(member, self()) || tree_->knows(member)) return;
  tree_->set_peer(member, environment_.peer(members().name(member)));
}

// --- Failure ---

lfc_coll_status CommunicatorState::failure() const noexcept {
  if (board_failed_) return LFC_COLL_NO_MEMORY;
  Board::End how = end_.load(std::memory_order_relaxed);
  if (how == Board::End::none && board_.is_open()) how = board_.end();
  if (how == Board::End::none && tree_ != nullptr && tree_->failed()) how = end_of(tree_->reason());
  switch (how) {
    case Board::End::none: return LFC_COLL_OK;
    case Board::End::lost: return LFC_COLL_LOST;
    case Board::End::disagreement: return LFC_COLL_MISMATCH;
    case Board::End::revoked: return LFC_COLL_REVOKED;
  }
  return LFC_COLL_LOST;
}

void CommunicatorState::end(Board::End how) noexcept {
  Board::End none = Board::End::none;
  end_.compare_exchange_strong(none, how, std::memory_order_relaxed);
  if (board_.is_open()) board_.set_end(how);
}

// Ranks of this node read the failure from the board, which may not exist yet. The other nodes are notified by the
// tree, because they do not see all ranks of this node.
void CommunicatorState::spread_failure() {
  const Board::End how = end_of(failure());
  if (!board_failed_) open_board();
  end(how);
  if (tree_ != nullptr) tree_->give_up(reason_of(how));
}

void CommunicatorState::disagree(CollOperation& operation, bool for_good) noexcept {
  operation.differs.store(true, std::memory_order_relaxed);
  if (for_good || tree_ != nullptr) end(Board::End::disagreement);
}

void CommunicatorState::query(CollOperation& operation) {
  if (board_.is_open() && !board_.waits_alike(operation.first, operation.whole()))
    disagree(operation, true);
  if (tree_ != nullptr) tree_->query();
}

}  // namespace lfc
