#include "services/multicast/protocol/membership.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace lfc {

Membership::Membership(std::vector<ProcessName> names, const std::vector<std::uint64_t>& nodes)
    : size_(static_cast<std::uint32_t>(names.size())) {
  auto table = std::make_shared<Table>();
  table->names = std::move(names);
  table->node.reserve(size_);
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (std::uint32_t member = 0; member < size_; ++member) {
    const auto [entry, is_new] = numbers.try_emplace(nodes[member], nodes_);
    if (is_new) {
      table->firsts.push_back(member);
      ++nodes_;
    }
    table->node.push_back(entry->second);
  }
  if (describe(*table)) return;
  table->firsts.shrink_to_fit();
  table_ = std::move(table);
}

// Sets the numbers of a regular group. False: the group is not regular.
bool Membership::describe(const Table& table) noexcept {
  if (size_ == 0) return true;
  first_name_ = table.names[0];
  if (size_ > 1) distance_ = table.names[1].rank - first_name_.rank;
  per_node_ = nodes_ > 1 ? table.firsts[1] : size_;
  for (std::uint32_t member = 0; member < size_; ++member)
    if (table.names[member] != name(member) || table.node[member] != node(member)) return false;
  return true;
}

// The members in a tree have its positions in increasing order: they are the first members of all nodes, with the root
// in place of the first of its own node.
Tree Membership::tree(Shape shape, std::uint32_t root) const noexcept {
  std::uint32_t below = 0;  // first members before the root
  if (table_ != nullptr) {
    const std::vector<std::uint32_t>& firsts = table_->firsts;
    below = static_cast<std::uint32_t>(std::lower_bound(firsts.begin(), firsts.end(), root) -
                                       firsts.begin());
  } else {
    below = root == 0 ? 0 : (root - 1) / per_node_ + 1;
  }
  const bool counts_first = first(node(root)) < root;
  return {shape.shape, shape.fan, nodes(), below - (counts_first ? 1 : 0)};
}

std::uint32_t Membership::position(const Tree& tree, std::uint32_t root,
                                   std::uint32_t member) const noexcept {
  if (member == root) return tree.root;
  const std::uint32_t node = this->node(member);
  const std::uint32_t among_others = node - (node > this->node(root) ? 1 : 0);
  return among_others + (among_others >= tree.root ? 1 : 0);
}

std::uint32_t Membership::member(const Tree& tree, std::uint32_t root,
                                 std::uint32_t position) const noexcept {
  if (position == tree.root) return root;
  const std::uint32_t among_others = position - (position > tree.root ? 1 : 0);
  return first(among_others + (among_others >= node(root) ? 1 : 0));
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
