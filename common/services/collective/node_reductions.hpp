// NodeReductions: the reductions that are combined at a node on their way up a tree. A reduction waits as a
// continuation: the host or the packet that brings the last part runs it, combines, and sends on (partial.hpp has the
// order).
//
//   reductions.contribute(operation, step, label, bytes);      // this node's part
//   reductions.accept(header, bytes);                          // a packet: a child's part, a question, an answer
//   reductions.query();                                          // after a long wait for a missing part
//
// Ranks whose calls differ may wait for each other, each in an operation of its own. A node that has waited for long
// queries its children (query()). A child that has sent its part of the step replies after that part; a child whose
// rank is in another operation detects the mismatch.
// Threads: under ServicePort::Access. Source: LFC thesis 7.5.2 (continuations).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "services/collective/node_results.hpp"
#include "services/collective/protocol/partial.hpp"
#include "services/collective/tree_position.hpp"

namespace lfc {

class NodeReductions {
 public:
  NodeReductions(TreePosition& position, NodeResults& results) noexcept
      : position_(position), results_(results) {}

  void begin(const CollOperation& operation);
  void end(const CollOperation& operation);
  void contribute(CollOperation& operation, std::uint64_t step, Label label,
                  std::span<const std::byte> bytes);
  Multicast::Receiver::Reception accept(const MulticastHeader& header,
                                        std::span<const std::byte> bytes);
  void query();
  // Whether no reduction waits here for other nodes' parts, or for its result to be sent.
  bool drained();

 private:
  // The description of a reduction in a packet that goes up the tree.
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
  // A step that is not over at this node.
  struct Pending {
    Pending(std::uint32_t children, Up first_up, Membership::Shape first_shape) noexcept
        : partial(children), up(first_up), shape(first_shape) {}
    Partial partial;
    Up up;  // of the part that came first
    Membership::Shape shape;
    std::atomic<std::uint32_t> unsent = 0;
  };

  static Up up_of(const CollOperation& operation, std::uint64_t step) noexcept;
  static Membership::Shape shape_of(const CollOperation& operation) noexcept {
    return {operation.shape, operation.fan};
  }
  bool add(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member,
           std::span<const std::byte> bytes);
  void send_up(std::uint64_t step, Up up, Membership::Shape shape,
               std::span<const std::byte> bytes);
  void send_tag(std::uint32_t member, NodeTag tag, std::uint64_t step, Up up,
                Membership::Shape shape, std::span<const std::byte> bytes = {});
  void query_children(std::uint64_t step, Up up, Membership::Shape shape, const Partial* has);
  void on_question(std::uint64_t step, Up up, Membership::Shape shape);
  void on_reply(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member);
  bool is_ahead_in(const CollOperation& operation) const noexcept;
  // Whether the host is in an operation at this step that does not fit this description.
  bool is_another(std::uint64_t step, Up up, Membership::Shape shape) const noexcept;
  void complete(std::uint64_t step, Up up, Membership::Shape shape, Pending& pending);
  void forget_sent();

  TreePosition& position_;
  NodeResults& results_;
  std::map<std::uint64_t, Pending> pending_;  // by step
  std::set<std::uint64_t> ahead_;             // those steps that lack this node's own part
  std::vector<std::pair<std::uint64_t, Pending*>>
      sent_;  // multicast, but perhaps not to all members yet
};

}  // namespace lfc
