// Plan: what all ranks decide alike of an operation, from its call and the communicator alone: its chunks, its
// steps, its tree; and how far ranks may be ahead of each other.
//
//   plan(operation, traits, {.nodes = 4, .lanes = 2, .middle = 4}, options);  // chunk, chunks, steps, fan
//   Pace pace(options.window, options.packet);
//   const std::size_t piece = pace.piece(bytes);                  // larger operations go in pieces
//   if (pace.fence_for(operation, synchronises) == Pace::Fence::before) ...;         // a barrier, in front of it
//
// Among nodes nobody runs ahead without bound: after `window` bytes of broadcasts and reductions, which alone
// do not synchronise, everybody inserts a barrier, and larger ones are done in pieces. All ranks count
// the same bytes, so they insert it at the same place. What this lets a member send before another takes
// it, the other's NI stores: Pace::share(). (On a board the slots bound it.)
// Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "services/collective/protocol/operation.hpp"
#include "services/collective/protocol/traits.hpp"

namespace lfc {

struct CollOptions {
  std::size_t packet = limits::kCollPacket;  // bytes of a chunk among nodes; at least kLeastPacket
  std::size_t window = limits::kCollWindow;  // that a rank may be ahead
  unsigned fan = 0;                          // of the trees; 0: by size
  TreeShape shape = TreeShape::monotone;
  bool host_forwarding = false;
  bool threads = false;  // several threads call at the same time
};
// One element of any type.
inline constexpr std::size_t kLeastPacket = 8;

// What the ranks of a communicator know of it alike.
struct CommonFacts {
  std::uint32_t nodes = 1;
  std::uint32_t lanes = 1;   // ranks of the node, if there is but one
  std::uint32_t middle = 0;  // member at the top of the trees of operations without a root
};

// Everybody combines everything: two ranks, or few bytes.
inline bool is_direct(const lfc_coll_call& call, std::uint32_t nodes,
                      std::uint32_t lanes) noexcept {
  return call.kind == LFC_COLL_ALLREDUCE && nodes == 1 &&
         (lanes == 2 || call.bytes * lanes <= limits::kCollDirect);
}

// Fills in what the operation's walk needs. Its `top` is the root's member already, if it has one.
void plan(CollOperation& operation, const CollectiveTraits& traits, const CommonFacts& facts,
          const CollOptions& options) noexcept;

class Pace {
 public:
  Pace(std::size_t window, std::size_t packet) noexcept : window_(window), packet_(packet) {}
  // What a member may have sent in this communicator and another not have taken: a window, and results
  // of the allreduce that has ended it. For Multicast::Options.
  static std::size_t share(const CollOptions& options) noexcept;
  // Bytes of each piece but the last of an operation that does not synchronise: such that a piece fits into a
  // window alone. A multiple of the largest type.
  std::size_t piece(std::size_t bytes) const noexcept;
  // Where everybody waits for everybody: an operation that begins when all before it are over, and before those behind
  // it do.
  enum class Fence : std::uint8_t { none, before, itself };
  // Counts an operation. `before`: a barrier has to go in front of it, which is counted as well. So it is
  // with the first: until all have joined, nobody sends them anything but that barrier's first words.
  Fence fence_for(const CollOperation& operation, bool synchronises) noexcept;
  // Whatever comes next and does not synchronise has a barrier in front.
  void fill() noexcept { lead_ = window_; }

 private:
  std::size_t largest_piece() const noexcept;

  std::size_t window_;
  std::size_t packet_;
  bool all_here_ = false;
  bool in_turn_ = true;   // since then operations have gone one after the other
  std::size_t lead_ = 0;  // bytes, with what packets cost, since everybody was known to be here
};

}  // namespace lfc
