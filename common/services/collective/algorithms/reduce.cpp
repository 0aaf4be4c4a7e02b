// Reduce: contributions meet on each node's board, and the NIs combine them up the tree.
#include "services/collective/collective.hpp"

namespace lfc {
namespace {

bool combine_and_send(Site& site, CollOperation& operation) {
  TreeNode* const tree = site.tree();
  const bool is_root = site.is_top(operation);
  for (; operation.combined < operation.chunks; ++operation.combined) {
    const std::uint64_t index = operation.combined;
    const std::uint64_t step = operation.step_of(index);
    const Label label = operation.label(index, operation.size_of(index));
    if (site.has_board() && !site.others_ready(operation, step, label)) return false;
    // In the root's buffer, unless the NI's result is still to come there: `in` may be the same.
    std::byte* const place = is_root && tree == nullptr ? operation.got(index) : site.scratch();
    const std::byte* const sum = combine_local(site, operation, index, step, place);
    if (site.has_board()) site.finish(operation, step);
    operation.moved = true;
    if (tree != nullptr) tree->contribute(operation, step, label, {sum, label.size});
  }
  if (tree == nullptr || !is_root) return true;
  operation.read = operation.arrived.load(std::memory_order_acquire);
  return operation.read == operation.chunks;
}

bool walk(Site& site, CollOperation& operation) {
  return site.is_leader(operation) ? combine_and_send(site, operation) : write_all(site, operation);
}

}  // namespace

constinit const Collective kReduce{.walk = walk, .traits = {.aside = true}};

}  // namespace lfc
