// Recovery: deadlock recovery over escape buffers (RECOV), one NI's part, as a pure state machine.
//
// A multicast packet that has waited too long for a credit is sent without one, on this NI's own
// *escape buffer*: one escape buffer on every other NI. Each recovery has an escape buffer of its own number: who has lost
// a peer does not know what of the last one is left behind it. Whoever gets a packet on an escape buffer may send one
// packet of the same tree on it to each of its children, so the way to the leaves is free. When
// the buffer here is free and all children have cleared the escape buffer, it is cleared towards the
// parent; when that reaches its owner, he may start another recovery.
//
//   Recovery recovery(own, out);
//   if (!recovery.recovering()) { send_on(own, child, first_blocked); recovery.start(child); }
//   if (!recovery.enter(escape, tree, parent)) ...            // the buffer is taken: hostile
//   if (auto way = recovery.way(tree, child)) { send_on(*way, ...); recovery.extend(*way, child); }
//   if (!recovery.release(tree)) return_credit(parent);        // else the escape buffer has the buffer
//   if (!recovery.clear(escape, child)) ...                   // the child was not on it: hostile
//
// Why recoveries end, and order is kept: README.md. Held by tests/unit/services/multicast/recovery_test.cpp and
// lfc_sim --multicast --recovery. Source: LFC thesis 4.3, Figures 4.13 to 4.15, with their slips
// put right: who is to be told is kept for each escape buffer, and a packet's escape buffer is no part of it.
// Threads: none of its own; the NI serialises.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "services/multicast/protocol/tree.hpp"
#include "wire/frame.hpp"

namespace lfc {

// What has one parent and one order: packets of one origin in one shape.
struct TreeId {
  std::uint64_t group = 0;
  std::uint32_t origin = 0;
  TreeShape shape = TreeShape::monotone;
  std::uint8_t fan = 1;
  bool operator==(const TreeId&) const = default;
};
struct TreeIdHash {
  std::size_t operator()(const TreeId& tree) const noexcept {
    const std::uint64_t rest = (std::uint64_t{tree.origin} << 16) |
                               (std::uint64_t{static_cast<std::uint8_t>(tree.shape)} << 8) |
                               tree.fan;
    return static_cast<std::size_t>((tree.group ^ rest * 0x9e3779b97f4a7c15u) *
                                    0xbf58476d1ce4e5b9u);
  }
};

class Recovery {
 public:
  // On the wire in front of what goes on it.
  struct EscapeBuffer {
    std::uint64_t owner = 0;   // packed name
    std::uint64_t number = 0;  // of his recoveries
    auto operator<=>(const EscapeBuffer&) const = default;
  };
  // Of one owner at a time: the others are left of recoveries that the loss of a process has ended above.
  static constexpr std::size_t kEscapesOfOne = 16;

  // Where the protocol's own frames go.
  class Out {
   public:
    virtual ~Out() = default;
    // Tells `parent` that the escape buffer is free here and below.
    virtual void escape_clear(EscapeBuffer escape, PeerId parent) = 0;
  };

  Recovery(std::uint64_t own, Out& out) noexcept : own_{own}, out_(out) {}

  // Of the recovery of ours that is under way, or of the next.
  EscapeBuffer own() const noexcept { return own_; }
  // A recovery of ours is under way: another has to wait.
  bool recovering() const noexcept { return escapes_.contains(own_); }
  // The first packet of a recovery of ours has gone to this child, on our escape buffer.
  void start(PeerId child);

  // A packet of the tree has come on an escape buffer. False: the escape buffer was not free, its owner has too
  // many, or the escape buffer is ours, which cannot come back to us.
  bool enter(EscapeBuffer escape, const TreeId& tree, PeerId parent);
  // An escape buffer on which the oldest packet of the tree that waits for this child may go.
  std::optional<EscapeBuffer> way(const TreeId& tree, PeerId child) const noexcept;
  // It has gone.
  void extend(EscapeBuffer escape, PeerId child);
  // Any packet of the tree is released. True: its buffer is given to the oldest escape buffer that the
  // tree holds here, and no credit may be returned; all buffers of a tree belong to one parent.
  bool release(const TreeId& tree);
  // The child says that the escape buffer is free there. False: it had nothing on it.
  bool clear(EscapeBuffer escape, PeerId child);
  // A peer is lost: it clears nothing any more, and has nothing.
  void lose(PeerId peer);

  // No escape buffer in use here, and no recovery of ours under way.
  bool idle() const noexcept { return escapes_.empty(); }
  std::size_t escapes() const noexcept { return escapes_.size(); }
  // Trees that hold an escape buffer here.
  const std::unordered_map<TreeId, std::deque<EscapeBuffer>, TreeIdHash>& trees() const noexcept {
    return active_;
  }

 private:
  struct Use {
    PeerId child;
    bool cleared;
  };
  // An escape buffer in use here. Of our own there is no buffer here.
  struct Held {
    bool buffer = false;
    PeerId parent = kNoPeer;
    std::size_t uncleared = 0;  // children
    std::vector<Use> children;
  };
  using EscapeBuffers = std::map<EscapeBuffer, Held>;

  void settle(EscapeBuffers::iterator entry);

  EscapeBuffer own_;
  Out& out_;
  EscapeBuffers escapes_;
  std::unordered_map<TreeId, std::deque<EscapeBuffer>, TreeIdHash> active_;  // oldest first
};

}  // namespace lfc
