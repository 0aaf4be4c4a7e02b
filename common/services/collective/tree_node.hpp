// TreeNode: a node's place in the trees of one communicator. It places multicast results and combines contributions on
// their way up, in whichever thread drives the NI, also while the host computes.
//
//   tree.begin(operation);                           // results go straight to its buffer
//   tree.multicast(operation, step, label, bytes);   // the root's
//   tree.contribute(operation, step, label, bytes);  // this node's part of a reduction
//   if (operation.arrived.load() == operation.chunks) tree.end(operation);
//
// Results of a node with several ranks go onto the board, once for all of them. A reduction waits
// as a continuation (node_reductions.hpp).
// A packet that arrives before its operation has begun stays in the NI's buffers; the sender bounds their number (Pace
// in plan.hpp).
//
// Detection of calls that differ: node_reductions.hpp.
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

  // Joins the group, once, after construction; `peers` as in Multicast::join().
  void join(std::uint64_t key, Membership membership, std::uint32_t self,
            std::vector<PeerId> peers);
  // Whether the NI needs it no more: after the host's part, a reduction may still wait for other nodes' parts.
  bool drained();
  void leave() noexcept;

  // Sets the board of this node, once it exists; results go to this rank's lane. Not open: it is used no more.
  void set_board(const Board& board) noexcept;
  // From now on packets of the operation are placed: results in operation.out, or contributions at its root.
  void begin(CollOperation& operation);
  void end(const CollOperation& operation);
  void multicast(CollOperation& operation, std::uint64_t step, Label label,
                 std::span<const std::byte> bytes);
  void contribute(CollOperation& operation, std::uint64_t step, Label label,
                  std::span<const std::byte> bytes);
  // Sends this node's block of an exchange to another node's leader.
  void send_block(const CollOperation& operation, std::uint32_t member, Label label,
                  std::span<const std::byte> bytes);
  // Calls each(member, label, bytes) for the operation.arrived blocks that have come from other leaders.
  template <class Each>
  void take_blocks(const CollOperation& operation, Each each) {
    const ServicePort::Access access(position_.multicast.port());
    blocks_.take(operation, each);
  }
  // Called after a long wait: queries the nodes whose part is missing.
  void query();
  // Whether the member has a peer. set_peer() sets it; kNoPeer: the member is lost.
  bool knows(std::uint32_t member) const;
  void set_peer(std::uint32_t member, PeerId peer);
  // Notifies the other nodes that this one leaves the group, so that they do not wait for it.
  void give_up(Multicast::Reason reason);
  // A member to which this process has lost the connection; the number of members: none.
  std::uint32_t lost_member() const;
  // Forwards packets now, where the host forwards.
  void serve();
  // Tries again to place results that found no room on the board. True: some are left.
  bool work() override;

  // Whether the group has ended, and for which reason.
  bool failed() const noexcept { return position_.failed.load(std::memory_order_acquire); }
  Multicast::Reason reason() const noexcept {
    return position_.reason.load(std::memory_order_relaxed);
  }

 private:
  Reception take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override;
  void lost(Multicast::Reason reason) override;

  // Takes the NI's lock, unless the caller is the NI's thread, which has it.
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
