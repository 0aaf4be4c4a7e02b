// Recovery: deadlock recovery over escape buffers (RECOV), one NI's part, as a pure state machine.
//
// Each NI owns one *escape buffer* on every other NI: room for one packet. Those that one recovery of it uses are an
// *escape path*, which has a number of its own, because after the loss of a peer parts of the last path may remain.
//
// A packet that has waited too long for a credit is sent without one, on the path of this NI. An NI that receives a
// packet on a path may send one packet of the same tree on it to each of its children: the way to the leaves is free.
// When the buffer here is free and all children have cleared the path, it is cleared towards the parent. When that
// reaches its owner, the owner may start another recovery.
//
//   Recovery recovery(own, out);
//   if (!recovery.recovering()) { send_on(own, child, first_blocked); recovery.start(child); }
//   if (!recovery.enter(escape, tree, parent)) ...            // the buffer is occupied: hostile
//   if (auto way = recovery.way(tree, child)) { send_on(*way, child, next_blocked); recovery.extend(*way, child); }
//   if (!recovery.release(tree)) return_credit(parent);        // else a path has its escape buffer back
//   if (!recovery.clear(escape, child)) ...                   // the child was not on it: hostile
//
// Why recoveries end, and order is kept: README.md. Held by tests/unit/services/multicast/recovery_test.cpp and
// lfc_sim --multicast --recovery. Source: LFC thesis 4.3, Figures 4.13 to 4.15, with two corrections: the parent to
// notify is kept for each path, and the path that a packet came on is no part of the packet.
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

// TreeId: a stream of packets with one parent and one order, namely those of one origin in one shape.
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
  // The name of an escape path; on the wire it stands in front of each packet that goes on the path.
  struct EscapePath {
    std::uint64_t owner = 0;   // packed name
    std::uint64_t number = 0;  // of the owner's recovery
    auto operator<=>(const EscapePath&) const = default;
  };
  // Most paths of one owner at a time: all but one remain from recoveries that ended above by the loss of a process.
  static constexpr std::size_t kEscapesOfOne = 16;

  // Sends the protocol's own frames.
  class Out {
   public:
    virtual ~Out() = default;
    // Notifies `parent` that the path is clear here and below.
    virtual void escape_clear(EscapePath escape, PeerId parent) = 0;
  };

  Recovery(std::uint64_t own, Out& out) noexcept : own_{own}, out_(out) {}

  // Returns the path of this NI's recovery that is under way, or of its next one.
  EscapePath own() const noexcept { return own_; }
  // Whether a recovery of this NI is under way, so that another has to wait.
  bool recovering() const noexcept { return escapes_.contains(own_); }
  // Notes that the first packet of a recovery of this NI has gone to this child, on own().
  void start(PeerId child);

  // Notes that a packet of the tree has come on a path. False: the path is held already, its owner has too many, or
  // the owner is this NI, to which its own path never comes back.
  bool enter(EscapePath escape, const TreeId& tree, PeerId parent);
  // Returns a path on which the oldest packet of the tree that waits for this child may go; none if there is none.
  std::optional<EscapePath> way(const TreeId& tree, PeerId child) const noexcept;
  // Notes that it has gone.
  void extend(EscapePath escape, PeerId child);
  // Notes that any packet of the tree is released. True: its buffer becomes the escape buffer of the oldest path that
  // the tree occupies here, and no credit may be returned; all buffers of a tree belong to one parent.
  bool release(const TreeId& tree);
  // Notes that the child has cleared the path. False: the path has no packet there, so the child breaks the protocol.
  bool clear(EscapePath escape, PeerId child);
  // Notes that a peer is lost: as a child it counts as having cleared all paths, as a parent it is forgotten.
  void lose(PeerId peer);

  // Whether no path is held here, and no recovery of this NI under way.
  bool idle() const noexcept { return escapes_.empty(); }
  std::size_t escapes() const noexcept { return escapes_.size(); }
  // Returns the trees that occupy escape buffers here, each with their paths, oldest first.
  const std::unordered_map<TreeId, std::deque<EscapePath>, TreeIdHash>& trees() const noexcept {
    return active_;
  }

 private:
  struct Use {
    PeerId child;
    bool cleared;
  };
  // A path that is held here. A path of this NI's own occupies no buffer here.
  struct Held {
    bool buffer = false;
    PeerId parent = kNoPeer;
    std::size_t uncleared = 0;  // children
    std::vector<Use> children;
  };
  using EscapePaths = std::map<EscapePath, Held>;

  void settle(EscapePaths::iterator entry);

  EscapePath own_;
  Out& out_;
  EscapePaths escapes_;
  std::unordered_map<TreeId, std::deque<EscapePath>, TreeIdHash> active_;  // oldest first
};

}  // namespace lfc
