// Membership: the processes of a group, their nodes, and the members in its trees.
//
// Members are known by their rank in increasing order of ProcessName (the order that makes trees
// monotone). A tree has one member on each node, its leader: the root on its own node, and the first
// member on every other node. So a packet crosses to a node once.
//
//   Membership group(names, nodes);                      // nodes[i]: any number, equal = same node
//   for (std::uint32_t member : group.children({shape, fan}, root, self)) ...
//
// Memory: a regular group takes none for its members. Its names have equal distances, and its nodes have equally many
// members in a row; the last node may have fewer. Any other group has a table of 12 bytes for each member and 4 for
// each node, which its copies share.
// Threads: const after construction. Tests: tests/unit/services/multicast/membership_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/multicast/protocol/tree.hpp"
#include "wire/address.hpp"

namespace lfc {

class Membership {
 public:
  struct Shape {
    TreeShape shape = TreeShape::monotone;
    std::uint32_t fan = 2;
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  Membership() = default;
  // `names` strictly increasing (by packed()), `nodes` as long.
  Membership(std::vector<ProcessName> names, const std::vector<std::uint64_t>& nodes);

  std::uint32_t size() const noexcept { return size_; }
  bool is_regular() const noexcept { return table_ == nullptr; }
  ProcessName name(std::uint32_t member) const noexcept {
    if (!is_regular()) return table_->names[member];
    return {first_name_.job, first_name_.rank + member * distance_};
  }
  std::uint32_t nodes() const noexcept { return nodes_; }
  std::uint32_t node(std::uint32_t member) const noexcept {
    return is_regular() ? member / per_node_ : table_->node[member];
  }
  std::uint32_t first(std::uint32_t node) const noexcept {
    return is_regular() ? node * per_node_ : table_->firsts[node];
  }
  // Returns the leader of the node of `member` in a tree with this root.
  std::uint32_t leader(std::uint32_t root, std::uint32_t member) const noexcept {
    return node(member) == node(root) ? root : first(node(member));
  }
  bool in_tree(std::uint32_t root, std::uint32_t member) const noexcept {
    return leader(root, member) == member;
  }

  // Both take only members in the tree. The root's parent is the root.
  Tree::Children children(Shape shape, std::uint32_t root, std::uint32_t member) const noexcept;
  std::uint32_t parent(Shape shape, std::uint32_t root, std::uint32_t member) const noexcept;

 private:
  struct Table {
    std::vector<ProcessName> names;
    std::vector<std::uint32_t> node;    // by member; nodes are numbered by their first members
    std::vector<std::uint32_t> firsts;  // by node; increasing
  };

  bool describe(const Table& table) noexcept;
  Tree tree(Shape shape, std::uint32_t root) const noexcept;
  std::uint32_t position(const Tree& tree, std::uint32_t root, std::uint32_t member) const noexcept;
  std::uint32_t member(const Tree& tree, std::uint32_t root, std::uint32_t position) const noexcept;

  std::uint32_t size_ = 0;
  std::uint32_t nodes_ = 0;
  // These describe a regular group:
  ProcessName first_name_;
  std::uint32_t distance_ = 1;  // between the ranks of neighbouring names
  std::uint32_t per_node_ = 1;
  std::shared_ptr<const Table> table_;  // null: the group is regular
};

}  // namespace lfc
