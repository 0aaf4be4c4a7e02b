#include "services/multicast/protocol/membership.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace lfc {

Membership::Membership(std::vector<ProcessName> names, const std::vector<std::uint64_t>& nodes)
    : names_(std::move(names)) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  node_.reserve(names_.size());
  for (std::uint32_t member = 0; member < size(); ++member) {
    const auto [entry, is_new] = numbers.try_emplace(nodes[member], this->nodes());
    if (is_new) firsts_.push_back(member);
    node_.push_back(entry->second);
  }
}

// The members in a tree have its positions in increasing order: they are the first members of all nodes, with the root
// in place of the first of its own node.
Tree Membership::tree(Shape shape, std::uint32_t root) const noexcept {
  const auto below = std::lower_bound(firsts_.begin(), firsts_.end(), root) - firsts_.begin();
  const bool counts_first = firsts_[node_[root]] < root;
  return {shape.shape, shape.fan, nodes(),
          static_cast<std::uint32_t>(below) - (counts_first ? 1 : 0)};
}

std::uint32_t Membership::position(const Tree& tree, std::uint32_t root,
                                   std::uint32_t member) const noexcept {
  if (member == root) return tree.root;
  const std::uint32_t node = node_[member];
  const std::uint32_t among_others = node - (node > node_[root] ? 1 : 0);
  return among_others + (among_others >= tree.root ? 1 : 0);
}

std::uint32_t Membership::member(const Tree& tree, std::uint32_t root,
                                 std::uint32_t position) const noexcept {
  if (position == tree.root) return root;
  const std::uint32_t among_others = position - (position > tree.root ? 1 : 0);
  return firsts_[among_others + (among_others >= node_[root] ? 1 : 0)];
}

Tree::Children Membership::children(Shape shape, std::uint32_t root,
                                    std::uint32_t member) const noexcept {
  const Tree tree = this->tree(shape, root);
  Tree::Children out = tree.children(position(tree, root, member));
  for (std::uint32_t& child : out) child = this->member(tree, root, child);
  return out;
}

std::uint32_t Membership::parent(Shape shape, std::uint32_t root,
                                 std::uint32_t member) const noexcept {
  const Tree tree = this->tree(shape, root);
  return this->member(tree, root, tree.parent(position(tree, root, member)));
}

}  // namespace lfc
