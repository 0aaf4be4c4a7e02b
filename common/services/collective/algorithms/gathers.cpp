// Gathers and scatters over a board: a block is copied in once, and out by each rank that gets it.
#include <algorithm>
#include <cstring>

#include "services/collective/algorithms/exchange.hpp"

namespace lfc {
namespace {

void copy_part(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size > 0 && to != from) std::memcpy(to, from, size);
}

// The block of the rank that has this lane.
CollOperation::Block block_of(const CommunicatorState& state, const lfc_coll_call& call,
                              std::uint32_t lane) noexcept {
  const std::uint32_t rank = state.rank_of(state.local()[lane]);
  return call.blocks == nullptr ? CollOperation::Block{rank * call.bytes, call.bytes}
                                : call.blocks[rank];
}

// Copies the part of that lane out of its room. The part of this rank's own lane comes from `own`; null: it is in its
// place already.
void take_part(const CommunicatorState& state, std::byte* out, std::uint32_t lane,
               std::uint64_t step, CollOperation::Block part, const std::byte* own) {
  if (lane != state.lane())
    copy_part(out + part.offset, state.board().room(lane, step, part.bytes), part.bytes);
  else if (own != nullptr)
    copy_part(out + part.offset, own, part.bytes);
}

// Whether all other lanes hold this chunk of their ranks' blocks.
bool blocks_ready(CommunicatorState& state, CollOperation& operation,
                  std::uint64_t index) noexcept {
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
    const auto part = operation.part_of(block_of(state, operation, lane), index);
    if (lane != state.lane() && !state.is_ready(operation, lane, operation.step_of(index),
                                                operation.label(index, part.bytes)))
      return false;
  }
  return true;
}

// Copies this chunk of all ranks' blocks. False: one is not ready.
bool take_blocks(CommunicatorState& state, CollOperation& operation) {
  const std::uint64_t index = operation.read;
  if (!blocks_ready(state, operation, index)) return false;
  const std::uint64_t step = operation.step_of(index);
  const std::byte* const own = operation.in == nullptr ? nullptr : operation.given(index);
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane)
    take_part(state, static_cast<std::byte*>(operation.out), lane, step,
              operation.part_of(block_of(state, operation, lane), index), own);
  state.finish(operation, step);
  ++operation.read;
  return true;
}

// --- Allgather ---

bool allgather_at_once(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
                       unsigned looks) {
  auto* const out = static_cast<std::byte*>(call.out);
  const auto* const in = static_cast<const std::byte*>(call.in);
  const auto own = block_of(state, call, state.lane());
  state.write(step, in == nullptr ? out + own.offset : in, label_at_once(call, own.bytes));
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
    const Label label = label_at_once(call, block_of(state, call, lane).bytes);
    if (lane != state.lane() &&
        !await_at_once(state.board(), lane, step, Board::flag_of(step, label), looks))
      return false;
  }
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane)
    take_part(state, out, lane, step, block_of(state, call, lane), in);
  return true;
}

bool walk_allgather(CommunicatorState& state, CollOperation& operation) {
  if (state.tree() != nullptr) return walk_exchange(state, operation);
  const auto own = block_of(state, operation, state.lane());
  while (operation.read < operation.chunks) {
    for (; operation.written < operation.chunks; ++operation.written) {
      const std::uint64_t step = operation.step_of(operation.written);
      const auto [offset, size] = operation.part_of(own, operation.written);
      if (!state.board().writable(step, size)) break;
      state.write(step,
                  operation.in == nullptr ? static_cast<std::byte*>(operation.out) + offset
                                          : operation.given(operation.written),
                  operation.label(operation.written, size));
      operation.moved = true;
    }
    if (operation.read == operation.written || !take_blocks(state, operation)) return false;
  }
  return true;
}

// --- Gather ---

bool walk_gather(CommunicatorState& state, CollOperation& operation) {
  if (!state.is_top(operation)) return write_all(state, operation);
  while (operation.read < operation.chunks)
    if (!take_blocks(state, operation)) return false;
  return true;
}

// --- Scatter: the parts of all ranks lie in the root's room, one after the other ---

bool scatter_root(CommunicatorState& state, CollOperation& operation) {
  Board& board = state.board();
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t index = operation.written;
    const std::uint64_t step = operation.step_of(index);
    const std::size_t size = operation.size_of(index);
    if (!board.writable(step, size * state.lanes())) return false;
    std::byte* const room = board.room(state.lane(), step, size * state.lanes());
    std::byte* const own = operation.out == nullptr ? nullptr : operation.got(index);
    for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
      const auto [offset, part] = operation.part_of(block_of(state, operation, lane), index);
      std::byte* const to = lane == state.lane() ? own : room + lane * size;
      if (to != nullptr) copy_part(to, static_cast<const std::byte*>(operation.in) + offset, part);
    }
    board.publish(state.lane(), step, operation.label(index, size));
    state.finish(operation, step);
  }
  return true;
}

bool walk_scatter(CommunicatorState& state, CollOperation& operation) {
  if (state.is_top(operation)) return scatter_root(state, operation);
  const std::uint32_t root = state.lane_of(operation.top);
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.step_of(operation.read);
    const std::size_t size = operation.size_of(operation.read);
    if (!state.is_ready(operation, root, step, operation.label(operation.read, size))) return false;
    const std::byte* const room = state.board().room(root, step, size * state.lanes());
    if (operation.out != nullptr)
      copy_part(operation.got(operation.read), room + state.lane() * size, size);
    state.finish(operation, step);
  }
  return true;
}

}  // namespace

constinit const Collective kAllgather{
    .walk = walk_allgather,
    .at_once = allgather_at_once,
    .traits = {.synchronises = true, .exchange = 2, .skipped_if_empty = true}};
constinit const Collective kGather{.walk = walk_gather, .traits = {.skipped_if_empty = true}};
constinit const Collective kScatter{.walk = walk_scatter,
                                    .traits = {.shares_room = true, .skipped_if_empty = true}};

}  // namespace lfc
