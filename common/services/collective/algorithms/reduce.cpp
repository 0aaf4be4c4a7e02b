// Reduce: the leader combines the contributions of its node from the board, and the NIs combine those of nodes up the
// tree.
#include "services/collective/collective.hpp"

namespace lfc {
namespace {

bool combine_and_send(CommunicatorState& state, CollOperation& operation) {
  TreeNode* const tree = state.tree();
  const bool is_root = state.is_top(operation);
  for (; operation.combined < operation.chunks; ++operation.combined) {
    const std::uint64_t index = operation.combined;
    const std::uint64_t step = operation.step_of(index);
    const Label label = operation.label(index, operation.size_of(index));
    if (state.has_board() && !state.others_ready(operation, step, label)) return false;
    // Not in the root's buffer if the NI will place the result there: `in` may be the same memory.
    std::byte* const place = is_root && tree == nullptr ? operation.got(index) : state.scratch();
    const std::byte* const sum = combine_local(state, operation, index, step, place);
    if (state.has_board()) state.finish(operation, step);
    operation.moved = true;
    // Not `label`: if a local peer's label differs, the sum must not reach the root.
    if (tree != nullptr)
      tree->contribute(operation, step, operation.label(index, label.size), {sum, label.size});
  }
  if (tree == nullptr || !is_root) return true;
  operation.read = operation.arrived.load(std::memory_order_acquire);
  return operation.read == operation.chunks;
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  return state.is_leader(operation) ? combine_and_send(state, operation)
                                    : write_all(state, operation);
}

}  // namespace

constinit const Collective kReduce{
    .walk = walk, .traits = {.combined_in_tree = true, .skipped_if_empty = true, .aside = true}};

}  // namespace lfc
