// TreeNode: a node's place in the trees of one communicator, which the NI looks after: places what is multicast
// to this node, and combines what comes up a tree, whoever drives the NI and whatever its host is doing.
//
//   tree.begin(operation);                           // results go straight to its buffer
//   tree.multicast(operation, step, label, bytes);   // the root's
//   tree.contribute(operation, step, label, bytes);  // this node's part of a reduction
//   if (operation.arrived.load() == operation.chunks) tree.end(operation);
//
// Results of a node with several ranks go onto the board, once for all of them. A reduction waits
// as a continuation: whoever brings the last part, the host or a packet, combines and sends on
// (partial.hpp has the order).
// What comes before its operation has begun stays in the NI's buffers; who sends bounds it (Pace in plan.hpp).
//
// Ranks whose calls differ may wait for each other, each in an operation of its own. Who has waited for
// long asks down its tree, ask(): who has said all of a step already answers, behind what it has said; who is in
// another operation there sees it. So somebody notices.
// Threads: any; Multicast::Receiver's functions run with ServicePort::Access held.
// Source: LFC thesis 4.2 (forwarding), 7.5.2 (continuations).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "services/collective/board.hpp"
#include "services/collective/operation.hpp"
#include "services/collective/partial.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

class TreeNode final : public Multicast::Receiver {
 public:
  explicit TreeNode(Multicast& multicast) noexcept : multicast_(multicast) {}
  ~TreeNode() override;

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
  void contribute(const CollOperation& operation, std::uint64_t step, Label label,
                  std::span<const std::byte> bytes);
  // Of an exchange: what this node has for another's head.
  void send_block(const CollOperation& operation, std::uint32_t member, Label label,
                  std::span<const std::byte> bytes);
  // What has come for it from others' heads, operation.arrived of them: each(member, label, bytes).
  template <class Each>
  void take_blocks(const CollOperation& operation, Each each) {
    const ServicePort::Access access(multicast_.port());
    const auto [first, last] = blocks_.equal_range(operation.first);
    for (auto entry = first; entry != last; ++entry) {
      Multicast::Packet& packet = *entry->second;
      const std::span<const std::byte> bytes = Multicast::bytes(packet);
      each(Multicast::header(packet).origin, label_of(Multicast::header(packet), bytes), bytes);
      multicast_.release(packet);
    }
    blocks_.erase(first, last);
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
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  bool mismatch() const noexcept { return mismatch_.load(std::memory_order_relaxed); }

 private:
  // What a packet that goes up tells those who combine it.
  struct Up {
    std::uint32_t root;
    Accumulate op;
    Element type;
    std::uint8_t all;   // the result is multicast
    std::uint8_t last;  // of the operation's steps
    bool sound(const Membership& members) const noexcept {
      return root < members.size() && op <= Accumulate::logical_xor && type <= Element::f64;
    }
    friend bool operator==(const Up&, const Up&) = default;
  };
  static_assert(sizeof(Up) == sizeof(MulticastHeader::word));
  // A step that is not over here.
  struct Pending {
    Pending(std::uint32_t children, Up up_said, Membership::Shape shape_said) noexcept
        : partial(children), up(up_said), shape(shape_said) {}
    Partial partial;
    Up up;  // what whoever came first has said of it
    Membership::Shape shape;
    std::atomic<std::uint32_t> unsent = 0;
  };

  Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override;
  void lost(Multicast::Reason reason) override;

  Answer take_block(const MulticastHeader& header);
  bool place(std::uint64_t step, Label label, std::span<const std::byte> bytes);
  bool place_in_buffer(std::uint64_t step, Label label, std::span<const std::byte> bytes);
  static Up up_of(const CollOperation& operation, std::uint64_t step) noexcept;
  static Membership::Shape shape_of(const CollOperation& operation) noexcept {
    return {operation.shape, operation.fan};
  }
  static Label label_of(const MulticastHeader& header, std::span<const std::byte> bytes) noexcept {
    return Label::of(header.word, bytes.size());
  }
  const Membership& members() const noexcept { return Multicast::membership(*group_); }
  bool add(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member,
           std::span<const std::byte> bytes);
  void send_up(std::uint64_t step, Up up, Membership::Shape shape,
               std::span<const std::byte> bytes);
  void tell(std::uint32_t member, std::uint8_t tag, std::uint64_t step, Up up,
            Membership::Shape shape, std::span<const std::byte> bytes = {});
  void ask_children(std::uint64_t step, Up up, Membership::Shape shape, const Partial* has);
  void on_question(std::uint64_t step, Up up, Membership::Shape shape);
  void on_answer(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member);
  // Whether the operation that is going on is another than this step says.
  bool is_another(std::uint64_t step, Up up, Membership::Shape shape) const noexcept;
  void complete(std::uint64_t step, Up up, Membership::Shape shape, Pending& pending);
  void forget_results();
  void disagree();

  Multicast& multicast_;
  Multicast::Group* group_ = nullptr;
  std::uint32_t self_ = 0;
  Board board_;  // the NI's own view: it writes while the host reads
  CollOperation* current_ = nullptr;
  std::uint64_t kept_step_ = 0;
  std::multimap<std::uint64_t, Multicast::Packet*> kept_;    // by step
  std::multimap<std::uint64_t, Multicast::Packet*> blocks_;  // likewise: of exchanges
  std::map<std::uint64_t, Pending> pending_;                 // by step
  std::set<std::uint64_t> ahead_;  // steps of them that this node's own part is missing from
  std::uint64_t own_next_ = 0;     // of lower steps this node has said all that it has to say
  std::vector<std::pair<std::uint64_t, Pending*>> results_;  // sent, but perhaps not to all
  struct OwnResult {
    Label label;
    std::vector<std::byte> bytes;
  };
  std::map<std::uint64_t, OwnResult> own_results_;  // that the board has no room for
  std::atomic<bool> failed_ = false;
  std::atomic<bool> mismatch_ = false;
};

}  // namespace lfc
