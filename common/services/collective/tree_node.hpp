// TreeNode: a node's place in the trees of one communicator, which the NI looks after: places what is multicast
// to this node, and combines what comes up a tree, whoever drives the NI and whatever its host is doing.
//
//   tree.begin(operation);                           // results go straight to its buffer
//   tree.multicast(operation, step, label, bytes);   // the root's
//   tree.contribute(operation, step, label, bytes);  // this node's part of a reduction
//   if (operation.arrived.load() == operation.chunks) tree.end(operation);
//
// Results of a node with several ranks go onto the board, once for all of them. A reduction waits
// as a continuation (node_reductions.hpp).
// What comes before its operation has begun stays in the NI's buffers; who sends bounds it (Pace in plan.hpp).
//
// How ranks whose calls differ notice it: node_reductions.hpp.
// Threads: any; Multicast::Receiver's functions run with ServicePort::Access held.
// Source: LFC thesis 4.2 (forwarding), 7.5.2 (continuations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/collective/node_blocks.hpp"
#include "services/collective/node_reductions.hpp"
#include "services/collective/node_results.hpp"
#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/operation.hpp"
#include "services/collective/tree_position.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

class TreeNode final : public Multicast::Receiver {
 public:
  explicit TreeNode(Multicast& multicast) noexcept : position_(multicast, *this) {}

  // At creation: joins; `peers` as in Multicast::join().
  void join(std::uint64_t key, Membership membership, std::uint32_t self,
            std::vector<PeerId> peers);
  // Whether the NI needs it no more: a reduction that the host has done its part of may still
  // wait for parts of others to combine and send on.
  bool drained();
  void leave() noexcept;

  // The board of this node, once it is there; results go to this rank's lane.
  void set_board(const Board& board) noexcept;
  // From now on results for the operation go to operation.out, or contributions for its root.
  void begin(CollOperation& operation);
  void end(const CollOperation& operation);
  void multicast(CollOperation& operation, std::uint64_t step, Label label,
                 std::span<const std::byte> bytes);
  void contribute(CollOperation& operation, std::uint64_t step, Label label,
                  std::span<const std::byte> bytes);
  // Of an exchange: what this node has for another's leader.
  void send_block(const CollOperation& operation, std::uint32_t member, Label label,
                  std::span<const std::byte> bytes);
  // What has come for it from others' leaders, operation.arrived of them: each(member, label, bytes).
  template <class Each>
  void take_blocks(const CollOperation& operation, Each each) {
    const ServicePort::Access access(position_.multicast.port());
    blocks_.take(operation, each);
  }
  // What this node has waited for: asks those who have not sent it.
  void ask();
  // Whether it has a connection; kNoPeer: it is lost.
  bool knows(std::uint32_t member) const;
  void set_peer(std::uint32_t member, PeerId peer);
  // The other nodes need not wait for this one any more.
  void give_up(bool disagreed);
  // A member whom this process has lost itself; the number of members: none.
  std::uint32_t lost_member() const;
  // With forwarding by the host: now is the time.
  void serve();
  // Tries again what found no room on the board. True: some is left.
  bool work() override;

  // A member is lost, or members disagree.
  bool failed() const noexcept { return position_.failed.load(std::memory_order_acquire); }
  bool mismatch() const noexcept { return position_.mismatch.load(std::memory_order_relaxed); }

 private:
  Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override;
  void lost(Multicast::Reason reason) override;

  // The NI's lock, which its own thread has already.
  class Inside {
   public:
    Inside(ServicePort& port, const CollOperation& operation) {
      if (!operation.aside) access_.emplace(port);
    }

   private:
    std::optional<ServicePort::Access> access_;
  };

  TreePosition position_;
  NodeResults results_{position_};
  NodeBlocks blocks_{position_};
  NodeReductions reductions_{position_, results_};
};

}  // namespace lfc
