// Plan: the chunks, steps and tree of an operation, and the bound on how far ranks run ahead of each other. It depends
// on the call and the communicator alone, so all ranks compute the same plan.
//
//   plan(operation, traits, {.nodes = 4, .lanes = 2, .middle = 4}, options);  // chunk, chunks, steps, fan
//   Pace pace(options.window, options.packet);
//   const std::size_t piece = pace.piece(bytes);                  // larger operations go in pieces
//   if (pace.fence_for(operation, synchronises) == Pace::Fence::before) ...;         // a barrier, in front of it
//
// Among nodes only broadcasts and reductions do not synchronise. After `window` bytes of them all ranks insert a
// barrier, and an operation larger than a window is split into pieces. All ranks count the same bytes, so they insert
// the barrier at the same place. A member's NI stores at most Pace::share() bytes that another member sent ahead of it.
// On a board the slots are the bound.
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

// Facts of a communicator that are the same at all its ranks.
struct CommonFacts {
  std::uint32_t nodes = 1;
  std::uint32_t lanes = 1;  // ranks of the node, if there is but one
  // The member at the top of operations without a root, if their tree is not flat.
  std::uint32_t middle = 0;
};

// Whether each rank combines all ranks' elements itself: two ranks, or few bytes.
inline bool is_direct(const lfc_coll_call& call, std::uint32_t nodes,
                      std::uint32_t lanes) noexcept {
  return call.kind == LFC_COLL_ALLREDUCE && nodes == 1 &&
         (lanes == 2 || call.bytes * lanes <= limits::kCollDirect);
}

// Sets the members of the operation that its walk needs. If it has a root, `top` must already be the root's member.
void plan(CollOperation& operation, const CollectiveTraits& traits, const CommonFacts& facts,
          const CollOptions& options) noexcept;

class Pace {
 public:
  Pace(std::size_t window, std::size_t packet) noexcept : window_(window), packet_(packet) {}
  // The bytes that a member may have sent in this communicator before another one takes them: a window, and results of
  // the allreduce that has ended it. For Multicast::Options.
  static std::size_t share(const CollOptions& options) noexcept;
  // Bytes of each piece but the last of an operation that does not synchronise: such that a piece fits into a
  // window alone. A multiple of the largest type.
  std::size_t piece(std::size_t bytes) const noexcept;
  // A fence makes all ranks wait for each other: it begins when all operations before it are over, and those behind it
  // begin when it is over.
  enum class Fence : std::uint8_t { none, before, itself };
  // Counts an operation. `before`: a barrier has to go in front of it, which is counted as well. The first operation
  // always needs one: until all members have joined, they are sent only the first packets of that barrier.
  Fence fence_for(const CollOperation& operation, bool synchronises) noexcept;
  // Makes the next operation that does not synchronise have a barrier in front.
  void fill() noexcept { lead_ = window_; }

 private:
  std::size_t largest_piece() const noexcept;

  std::size_t window_;
  std::size_t packet_;
  bool all_here_ = false;
  bool in_turn_ = true;   // since the last fence each operation was waited for before the next one
  std::size_t lead_ = 0;  // bytes and packet costs since the last point that all ranks had reached
};

}  // namespace lfc
