#include "services/collective/protocol/plan.hpp"

#include <algorithm>

#include "services/collective/protocol/board.hpp"
#include "services/multicast/protocol/packets.hpp"

namespace lfc {
namespace {

// Sending a packet to one more child takes a quarter of a hop, measured from 8 B to 60 KiB among 4 to 9 nodes.
constexpr std::uint64_t kAgain = 1;

constexpr std::size_t kUnit = 64;  // bytes: of elements of any type

// The size of packets of equal size, none above `most`: a small last one would take as long as the others.
std::size_t even_packet(std::size_t bytes, std::size_t most) noexcept {
  if (bytes <= most) return most;
  const std::size_t packets = (bytes + most - 1) / most;
  const std::size_t share = (bytes + packets - 1) / packets;
  return std::min(most, (share + kUnit - 1) / kUnit * kUnit);
}

// The fan-out with which `chunks` packets are at the last node first: the first packet passes
// `depth` nodes, each of which sends it to its children in turn; every other packet follows after
// what one node needs to send one to all its children. In units of a quarter of a hop. If two
// fan-outs take the same time, it returns the larger one, because fewer nodes forward.
std::uint32_t best_fan(TreeShape shape, std::uint32_t nodes, std::uint64_t chunks) noexcept {
  if (!has_fan(shape)) return 1;
  std::uint32_t best = 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::uint32_t fan : {1u, 2u, 4u, 8u}) {
    std::uint64_t depth = 0;
    std::uint64_t reached = 1;
    for (std::uint64_t level = 1; reached < nodes; reached += level, ++depth) level *= fan;
    const std::uint64_t children = std::min(fan, nodes - 1);
    const std::uint64_t time =
        depth * (4 + (children - 1) * kAgain) + (chunks - 1) * children * kAgain;
    if (time > least) continue;
    least = time;
    best = fan;
  }
  return best;
}

// Whether the tree from member 0 has no inner nodes. Most programs broadcast from that member, so a barrier that has
// the same top takes no further hop and keeps no further connection busy.
bool is_flat(const CollOperation& operation, std::uint32_t nodes) noexcept {
  return has_fan(operation.shape) && operation.fan >= nodes - 1;
}

std::size_t chunk_of(const CollOperation& operation, const CollectiveTraits& traits,
                     const CommonFacts& facts, std::size_t packet) noexcept {
  std::size_t chunk =
      facts.nodes == 1 ? limits::kCollLocalChunk : even_packet(operation.bytes, packet);
  if (traits.shares_room)
    chunk = std::clamp<std::size_t>(Board::kRoom / facts.lanes, 1, limits::kCollLocalChunk);
  if (operation.combine == nullptr) return chunk;
  const std::size_t width = size_of(static_cast<Element>(operation.type));
  return std::max(chunk - chunk % width, width);  // whole elements
}

}  // namespace

void plan(CollOperation& operation, const CollectiveTraits& traits, const CommonFacts& facts,
          const CollOptions& options) noexcept {
  if (lfc_coll_is_reduction(operation.kind) && operation.bytes > 0)
    operation.combine = number_combiner(
        {static_cast<Accumulate>(operation.op), static_cast<Element>(operation.type)});
  if (const std::uint64_t whole = facts.nodes > 1 ? traits.exchange : traits.whole; whole != 0) {
    if (facts.nodes > 1) operation.top = facts.middle;
    operation.chunk = operation.bytes;
    operation.chunks = 1;
    operation.steps = operation.per_chunk = whole;
    return;
  }
  if (traits.apart) {
    operation.chunks = 1;
    return;
  }
  operation.chunk = chunk_of(operation, traits, facts, options.packet);
  operation.chunks = operation.bytes <= operation.chunk
                         ? 1
                         : (operation.bytes + operation.chunk - 1) / operation.chunk;
  operation.direct = is_direct(operation, facts.nodes, facts.lanes);
  if (operation.kind == LFC_COLL_ALLREDUCE) operation.per_chunk = operation.direct ? 1 : 2;
  operation.steps = operation.chunks * operation.per_chunk;
  if (facts.nodes == 1) return;
  operation.shape = options.shape;
  operation.fan = static_cast<std::uint8_t>(
      options.fan != 0 ? options.fan : best_fan(options.shape, facts.nodes, operation.chunks));
  if (operation.kind == LFC_COLL_ALLREDUCE)
    operation.top = is_flat(operation, facts.nodes) ? 0 : facts.middle;
}

std::size_t Pace::share(const CollOptions& options) noexcept {
  return options.window + (limits::kCollAhead + 1) * (options.packet + MulticastPacket::kCost);
}

std::size_t Pace::largest_piece() const noexcept {
  const std::size_t packet = std::max<std::size_t>(packet_ / kUnit * kUnit, 1);
  const std::size_t room = window_ - std::min(window_, MulticastPacket::kCost);
  return std::max<std::size_t>(room / (packet + MulticastPacket::kCost), 1) * packet;
}

std::size_t Pace::piece(std::size_t bytes) const noexcept {
  const std::size_t most = largest_piece();
  const std::size_t pieces = std::max<std::size_t>((bytes + most - 1) / most, 1);
  return ((bytes + pieces - 1) / pieces + kUnit - 1) / kUnit * kUnit;
}

Pace::Fence Pace::fence_for(const CollOperation& operation, bool synchronises) noexcept {
  const std::size_t cost = operation.bytes + operation.chunks * MulticastPacket::kCost;
  Fence fence = Fence::none;
  // A barrier of the program may serve as the first one.
  if (!all_here_)
    fence = synchronises && operation.bytes == 0 ? Fence::itself : Fence::before;
  else if (!synchronises && cost > window_ - std::min(lead_, window_))
    fence = Fence::before;
  if (fence != Fence::none) in_turn_ = true;
  if (!operation.waited_for && fence != Fence::itself) in_turn_ = false;
  // An operation that is waited for ends when all ranks have begun it; as they waited for all before it, those are
  // over.
  if (fence != Fence::none || (synchronises && in_turn_)) lead_ = 0;
  all_here_ = true;
  if (!synchronises) lead_ += cost;
  return fence;
}

}  // namespace lfc
