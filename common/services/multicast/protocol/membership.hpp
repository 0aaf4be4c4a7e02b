// Membership: the processes of a group, their nodes, and the members in its trees.
//
// Members are known by their rank in increasing order of ProcessName (the order that makes trees
// monotone). A tree has one member on each node, its leader: the root on its own node, and the first
// member on every other node. So a packet crosses to a node once.
//
//   Membership group(names, nodes);                      // nodes[i]: any number, equal = same node
//   for (std::uint32_t member : group.children({shape, fan}, root, self)) ...
//
// Threads: const after construction.
#pragma once

#include <cstdint>
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

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(names_.size()); }
  ProcessName name(std::uint32_t member) const noexcept { return names_[member]; }
  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(firsts_.size()); }
  std::uint32_t node(std::uint32_t member) const noexcept { return node_[member]; }
  std::uint32_t first(std::uint32_t node) const noexcept { return firsts_[node]; }
  // Returns the leader of the node of `member` in a tree with this root.
  std::uint32_t leader(std::uint32_t root, std::uint32_t member) const noexcept {
    return node_[member] == node_[root] ? root : firsts_[node_[member]];
  }
  bool in_tree(std::uint32_t root, std::uint32_t member) const noexcept {
    return leader(root, member) == member;
  }

  // Both take only members in the tree. The root's parent is the root.
  Tree::Children children(Shape shape, std::uint32_t root, std::uint32_t member) const noexcept;
  std::uint32_t parent(Shape shape, std::uint32_t root, std::uint32_t member) const noexcept;

 private:
  Tree tree(Shape shape, std::uint32_t root) const noexcept;
  std::uint32_t position(const Tree& tree, std::uint32_t root, std::uint32_t member) const noexcept;
  std::uint32_t member(const Tree& tree, std::uint32_t root, std::uint32_t position) const noexcept;

  std::vector<ProcessName> names_;
  std::vector<std::uint32_t> node_;    // by member; nodes are numbered by their first members
  std::vector<std::uint32_t> firsts_;  // by node; increasing
};

}  // namespace lfc
