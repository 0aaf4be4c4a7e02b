// Broadcast: the root's bytes, onto its board and down the tree.
#include <cstring>

#include "services/collective/collective.hpp"

namespace lfc {
namespace {

bool send(Site& site, CollOperation& operation) {
  TreeNode* const tree = site.tree();
  const bool shared = site.has_board();
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.step_of(operation.written);
    const std::size_t size = operation.size_of(operation.written);
    const std::byte* const bytes = operation.given(operation.written);
    const Label label = operation.label(operation.written, size);
    if (shared && !site.board().writable(step, size)) return false;
    if (tree != nullptr) {
      if (operation.unsent.load(std::memory_order_acquire) >= limits::kCollUnsent) return false;
      tree->multicast(operation, step, label, {bytes, size});
    }
    if (shared) {
      site.write(step, bytes, label);
      site.finish(operation, step);
    }
    operation.moved = true;
  }
  return operation.unsent.load(std::memory_order_acquire) == 0;
}

bool walk(Site& site, CollOperation& operation) {
  if (site.is_top(operation)) return send(site, operation);
  const Membership& members = site.members();
  const bool with_root = members.node(operation.top) == members.node(site.self());
  return read_results(site, operation, with_root ? site.lane_of(operation.top) : 0);
}

bool at_once(Site& site, const lfc_coll_call& call, std::uint64_t step, unsigned looks) {
  const Label label = label_at_once(call, call.bytes);
  const std::uint32_t root = site.member_of(call.root);
  if (root == site.self()) {
    site.write(step, static_cast<const std::byte*>(call.in), label);
    return true;
  }
  const std::uint32_t lane = site.lane_of(root);
  if (!await_at_once(site.board(), lane, step, Board::flag_of(step, label), looks)) return false;
  std::memcpy(call.out, site.board().room(lane, step, call.bytes), call.bytes);
  return true;
}

}  // namespace

constinit const Collective kBcast{.walk = walk, .at_once = at_once, .traits = {.aside = true}};

}  // namespace lfc
