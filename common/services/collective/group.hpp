// CollGroup: one communicator as this rank sees it: its operations, one after the other, each a walk
// over steps that all ranks number alike.
//
//   CollGroup group(members, self, std::move(network), std::move(place), options);   // network: null on one node
//   CollOperation operation;
//   operation.kind = CollOperation::Kind::bcast;
//   group.submit(operation);
//   while (!operation.finished) group.advance();
//
// One node: everything goes over the board. Several: on each node one rank, the head, stands for
// all; contributions meet on the board, the head's NI combines them up the tree, and results are
// multicast to the NIs of the heads, which write them onto their boards.
//
//   operation  | steps for each chunk | who writes the lane of the step
//   bcast      | 1                    | the root; on other nodes the head's NI
//   reduce     | 1                    | all but the head (which is the root on its node)
//   allreduce  | 1, direct            | all; everybody combines everything: two ranks, or few bytes
//              | 2, one node          | all; then each combines a part, and writes that
//              | 2, several nodes     | all but the head; then the head's NI, the result
//   barrier    | an allreduce of no bytes
//   allgather  | 1, one node          | all
//   gather     | 1, one node          | all but the root
//   scatter    | 1, one node          | the root, for all
//
// Nobody runs ahead without bound: on a board by its slots, among nodes because after `window` bytes
// of broadcasts and reductions, which alone do not synchronise, everybody inserts a barrier, and larger ones
// are done in pieces. All ranks count the same bytes, so they insert it at the same place. What this lets a
// member send before another takes it, the other's NI stores: share().
// Whoever reads a lane compares labels (label.hpp). Where all agree on the number of steps only the
// operation ends with Status::mismatch, at those who see it; else all operations of the group do, everywhere,
// since the steps of later ones are numbered differently; among nodes always, since leads are.
// Threads: any, one at a time gets in; others find it busy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "services/collective/board.hpp"
#include "services/collective/network.hpp"
#include "services/collective/operation.hpp"

namespace lfc {

struct CollOptions {
  std::size_t packet = limits::kCollPacket;  // bytes of a chunk among nodes
  std::size_t window = limits::kCollWindow;  // that a rank may be ahead
  unsigned fan = 0;                          // of the trees; 0: by size
  TreeShape shape = TreeShape::monotone;
  bool host_forwarding = false;
  bool threads = false;  // several threads call at the same time
};

class CollGroup {
 public:
  // What a group needs to know about its ranks and can ask for.
  class Place {
   public:
    virtual ~Place() = default;
    // The memory of the board; null: not yet. `failed`: it never will be.
    virtual std::byte* board(bool& failed) = 0;
    // The peer that a root is, which was not needed before; kNoPeer: lost.
    virtual PeerId peer(std::uint32_t member) = 0;
    virtual Ni* ni() = 0;
  };

  // `network` is null when all ranks share a node.
  CollGroup(Membership membership, std::uint32_t self, std::unique_ptr<GroupNetwork> network,
            std::unique_ptr<Place> place, const CollOptions& options);
  // All operations have finished.
  ~CollGroup();
  // The NI's part may be needed longer: until it is drained(), then leave() it.
  std::unique_ptr<GroupNetwork> take_network() noexcept { return std::move(network_); }
  CollGroup(const CollGroup&) = delete;
  CollGroup& operator=(const CollGroup&) = delete;

  const Membership& members() const noexcept { return members_; }
  // For Multicast::Options.
  static std::size_t share(const CollOptions& options) noexcept;
  // Does a small operation among the ranks of one node if nothing is in its way and the others are
  // there within so many looks. False: nothing has been done that submit() would not do again.
  bool try_at_once(const CollOperation& operation, unsigned looks);
  // Appends the operation and goes as far as it can without waiting.
  void submit(CollOperation& operation);
  // True: something has moved.
  bool advance();
  bool idle() const noexcept { return queue_ == nullptr; }
  // Ends all operations with Status::lost: a rank of this node is dead.
  void set_lost() noexcept { end(Board::End::lost); }
  // Members' calls were not the same, and it has no use to go on.
  bool disagreed() const noexcept { return failure() == CollOperation::Status::mismatch; }
  // A member on another node whom this rank has lost; the number of members: none.
  std::uint32_t lost_member() const {
    return network_ == nullptr ? members_.size() : network_->lost_member();
  }
  // The ranks of this node, by lane, as members.
  const std::vector<std::uint32_t>& local() const noexcept { return local_; }

 private:
  // One thread at a time, and no operation from inside another.
  bool enter() noexcept {
    if (options_.threads) return !busy_.test_and_set(std::memory_order_acquire);
    return !std::exchange(inside_, true);
  }
  void exit() noexcept {
    if (options_.threads) busy_.clear(std::memory_order_release);  // pairs with enter()
    inside_ = false;
  }
  bool advance_inside();
  bool await_at_once(std::uint32_t lane, Label label, unsigned& looks) const noexcept;
  bool bcast_at_once(const CollOperation& operation, unsigned looks);
  bool allgather_at_once(const CollOperation& operation, unsigned looks);
  bool allreduce_at_once(const CollOperation& operation, unsigned looks);
  void combine_all(const CollOperation& operation, std::uint64_t step, std::size_t offset,
                   std::size_t size, Combine combine) const;
  void prepare(CollOperation& operation) noexcept;
  void append(CollOperation& operation);
  std::size_t largest_piece() const noexcept;
  void append_bounded(CollOperation& operation);
  void append_pieces(CollOperation& operation);
  bool begin(CollOperation& operation);
  bool walk(CollOperation& operation, bool& moved);
  bool bcast_root(CollOperation& operation, bool& moved);
  bool bcast_other(CollOperation& operation, bool& moved);
  bool read_results(CollOperation& operation, std::uint32_t lane, bool& moved);
  bool reduce_head(CollOperation& operation, bool& moved);
  bool write_all(CollOperation& operation, bool& moved);
  bool allreduce_direct(CollOperation& operation, bool& moved);
  bool allreduce_parts(CollOperation& operation, bool& moved);
  bool allreduce_nodes(CollOperation& operation, bool& moved);
  bool allgather(CollOperation& operation, bool& moved);
  bool gather_root(CollOperation& operation, bool& moved);
  bool scatter_root(CollOperation& operation, bool& moved);
  bool scatter_other(CollOperation& operation, bool& moved);
  void take_part(const CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                 CollOperation::Block part, const std::byte* own) const;
  bool blocks_ready(CollOperation& operation, std::uint64_t index, std::uint64_t step) noexcept;
  void take_blocks(const CollOperation& operation, std::uint64_t index, std::uint64_t step) const;
  const std::byte* combine_local(CollOperation& operation, std::uint64_t index, std::uint64_t step,
                                 std::byte* target);
  bool is_ready(CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                Label label) noexcept;
  bool others_ready(CollOperation& operation, std::uint64_t step, Label label) noexcept;
  void disagree(CollOperation& operation, bool for_good) noexcept;
  void write(std::uint64_t step, const std::byte* bytes, Label label) noexcept;
  std::uint32_t lane_of(std::uint32_t member) const noexcept;
  bool is_direct(const CollOperation& operation) const noexcept;
  CollOperation::Status failure() const noexcept;
  void end(Board::End how) noexcept;
  void spread_failure();

  const Membership members_;
  const std::uint32_t self_;
  const CollOptions options_;
  std::unique_ptr<GroupNetwork> network_;
  std::unique_ptr<Place> place_;
  std::vector<std::uint32_t> local_;  // members on this node, in order: lane i is local_[i]
  std::uint32_t lane_ = 0;
  std::uint32_t tree_root_ = 0;  // of allreduces
  Board board_;
  bool board_failed_ = false;
  std::vector<std::byte> scratch_;
  std::uint64_t next_step_ = 0;
  // Bytes, with what packets cost, since everybody was known to be here.
  std::size_t lead_ = ~std::size_t{0};
  CollOperation* queue_ = nullptr;
  CollOperation** tail_ = &queue_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  bool inside_ = false;
  std::atomic<Board::End> end_ = Board::End::none;
};

}  // namespace lfc
