// Allreduce, and the barrier, which is an allreduce without bytes.
#include <cstring>

#include "services/collective/collective.hpp"
#include "services/collective/protocol/plan.hpp"

namespace lfc {
namespace {

// Combines the lanes of all ranks in this step, in the order of lanes, so that all ranks get the same bits.
void combine_all(const CommunicatorState& state, std::uint64_t step, const std::byte* own,
                 std::byte* out, std::size_t size, Combiner combine, Element type) {
  const Board& board = state.board();
  const std::size_t count = size / size_of(type);
  if (board.lanes() == 2) {
    const std::byte* const other = board.room(1 - state.lane(), step, size);
    combine(state.lane() == 0 ? own : other, state.lane() == 0 ? other : own, out, count);
    return;
  }
  const std::byte* sum = board.room(0, step, size);
  for (std::uint32_t lane = 1; lane < board.lanes(); ++lane) {
    combine(sum, board.room(lane, step, size), out, count);
    sum = out;
  }
}

// Writes this rank's chunks, as far as there is room in all the steps of each.
void write_some(CommunicatorState& state, CollOperation& operation) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::size_t size = operation.size_of(operation.written);
    if (!state.board().writable(operation.step_of(operation.written + 1) - 1, size)) break;
    state.write(operation.step_of(operation.written), operation.given(operation.written),
                operation.label(operation.written, size));
    operation.moved = true;
  }
}

// Each rank combines all lanes itself.
bool direct(CommunicatorState& state, CollOperation& operation) {
  while (operation.read < operation.chunks) {
    write_some(state, operation);
    const std::uint64_t index = operation.read;
    const std::uint64_t step = operation.step_of(index);
    const std::size_t size = operation.size_of(index);
    if (index == operation.written ||
        !state.others_ready(operation, step, operation.label(index, size)))
      return false;
    if (size > 0)
      combine_all(state, step, operation.given(index), operation.got(index), size,
                  operation.combine, static_cast<Element>(operation.type));
    state.finish(operation, step);
    ++operation.read;
  }
  return true;
}

// The part of a chunk that the rank of a lane combines for all ranks, in bytes.
CollOperation::Block part_of(const CommunicatorState& state, std::uint32_t lane, std::size_t size,
                             std::size_t width) noexcept {
  const std::size_t count = size / width;
  const std::size_t begin = count * lane / state.lanes() * width;
  return {begin, count * (lane + 1) / state.lanes() * width - begin};
}

// Combines this rank's part of a chunk from all lanes.
void combine_part(CommunicatorState& state, const CollOperation& operation, std::uint64_t step,
                  Label label) {
  const std::size_t width = size_of(static_cast<Element>(operation.type));
  Board& board = state.board();
  const auto [begin, bytes] = part_of(state, state.lane(), label.size, width);
  std::byte* const out = board.room(state.lane(), step + 1, label.size) + begin;
  const std::byte* sum = board.room(0, step, label.size) + begin;
  for (std::uint32_t lane = 1; lane < state.lanes(); ++lane) {
    operation.combine(sum, board.room(lane, step, label.size) + begin, out, bytes / width);
    sum = out;
  }
  board.publish(state.lane(), step + 1, label);
}

// For each chunk: each rank writes its lane, combines its part of all lanes, and reads the parts of all ranks.
bool by_parts(CommunicatorState& state, CollOperation& operation) {
  const std::size_t width = size_of(static_cast<Element>(operation.type));
  while (operation.read < operation.chunks) {
    write_some(state, operation);
    for (; operation.combined < operation.written; ++operation.combined) {
      const std::uint64_t step = operation.step_of(operation.combined);
      const Label label =
          operation.label(operation.combined, operation.size_of(operation.combined));
      if (!state.others_ready(operation, step, label)) break;
      combine_part(state, operation, step, label);
      operation.moved = true;
    }
    const std::uint64_t index = operation.read;
    const std::uint64_t step = operation.step_of(index) + 1;
    const std::size_t size = operation.size_of(index);
    if (index == operation.combined ||
        !state.others_ready(operation, step, operation.label(index, size)))
      return false;
    for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
      const auto [begin, bytes] = part_of(state, lane, size, width);
      std::memcpy(operation.got(index) + begin, state.board().room(lane, step, size) + begin,
                  bytes);
    }
    state.finish(operation, step);
    ++operation.read;
  }
  return true;
}

// Sends chunks up the tree while results of earlier ones come down.
bool among_nodes(CommunicatorState& state, CollOperation& operation) {
  const bool leader = state.is_leader(operation);
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t index = operation.written;
    const std::uint64_t step = operation.step_of(index);
    const std::size_t size = operation.size_of(index);
    const Label label = operation.label(index, size);
    if (!leader) {
      if (!state.board().writable(step, size)) break;
      state.write(step, operation.given(index), label);
    } else {
      if (!state.may_contribute(step) ||
          (state.has_board() && !state.others_ready(operation, step, label)))
        break;
      const std::byte* const sum = combine_local(state, operation, index, step, state.scratch());
      // Not `label`: if a local peer's label differs, the sum must not reach other nodes.
      state.tree()->contribute(operation, step, operation.label(index, size), {sum, size});
    }
    operation.moved = true;
  }
  return read_results(state, operation, 0);
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  if (operation.direct) return direct(state, operation);
  return state.tree() == nullptr ? by_parts(state, operation) : among_nodes(state, operation);
}

bool at_once(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
             unsigned looks) {
  if (!is_direct(call, 1, state.lanes())) return false;
  const Label label = label_at_once(call, call.bytes);
  const std::uint64_t flag = Board::flag_of(step, label);
  const auto* const in = static_cast<const std::byte*>(call.in);
  state.write(step, in, label);
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane)
    if (lane != state.lane() && !await_at_once(state.board(), lane, step, flag, looks))
      return false;
  if (call.bytes == 0) return true;
  const auto type = static_cast<Element>(call.type);
  combine_all(state, step, in, static_cast<std::byte*>(call.out), call.bytes,
              number_combiner({static_cast<Accumulate>(call.op), type}), type);
  return true;
}

}  // namespace

constinit const Collective kAllreduce{
    .walk = walk,
    .at_once = at_once,
    .traits = {.synchronises = true, .combined_in_tree = true, .aside = true}};

}  // namespace lfc
