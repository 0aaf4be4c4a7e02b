// Broadcast: the root writes its bytes onto its board and multicasts them down the tree.
#include <cstring>

#include "services/collective/collective.hpp"

namespace lfc {
namespace {

bool send(CommunicatorState& state, CollOperation& operation) {
  TreeNode* const tree = state.tree();
  const bool shared = state.has_board();
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.step_of(operation.written);
    const std::size_t size = operation.size_of(operation.written);
    const std::byte* const bytes = operation.given(operation.written);
    const Label label = operation.label(operation.written, size);
    if (shared && !state.board().writable(step, size)) return false;
    if (tree != nullptr) {
      if (operation.unsent.load(std::memory_order_acquire) >= limits::kCollUnsent) return false;
      tree->multicast(operation, step, label, {bytes, label.wrong ? 0 : size});
    }
    if (shared) {
      state.write(step, bytes, label);
      state.finish(operation, step);
    }
    operation.moved = true;
  }
  return operation.unsent.load(std::memory_order_acquire) == 0;
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  if (state.is_top(operation)) return send(state, operation);
  const Membership& members = state.members();
  const bool with_root = members.node(operation.top) == members.node(state.self());
  return read_results(state, operation, with_root ? state.lane_of(operation.top) : 0);
}

bool at_once(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
             unsigned looks) {
  const Label label = label_at_once(call, call.bytes);
  const std::uint32_t root = state.member_of(call.root);
  if (root == state.self()) {
    state.write(step, static_cast<const std::byte*>(call.in), label);
    return true;
  }
  const std::uint32_t lane = state.lane_of(root);
  if (!await_at_once(state.board(), lane, step, Board::flag_of(step, label), looks)) return false;
  std::memcpy(call.out, state.board().room(lane, step, call.bytes), call.bytes);
  return true;
}

}  // namespace

constinit const Collective kBcast{
    .walk = walk, .at_once = at_once, .traits = {.skipped_if_empty = true, .aside = true}};

}  // namespace lfc
