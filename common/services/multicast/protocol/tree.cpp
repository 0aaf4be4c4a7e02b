#include "services/multicast/protocol/tree.hpp"

#include <bit>

namespace lfc {
namespace {

// Returns the number of children of an inner node of the heap-numbered shapes.
std::uint32_t width(const Tree& tree) noexcept {
  switch (tree.shape) {
    case TreeShape::binary: return 2;
    case TreeShape::chain: return 1;
    default: return tree.fan;
  }
}

}  // namespace

Tree::Children Tree::children(std::uint32_t position) const noexcept {
  Children out;
  const std::uint32_t n = size;
  if (shape == TreeShape::monotone) {
    // Two heaps with the root as node 0 of both; node k is the k-th member above or below it.
    const auto feed = [&](std::uint64_t node, std::uint32_t last, bool above) {
      for (std::uint64_t child = node * fan + 1; child <= node * fan + fan && child <= last;
           ++child)
        out.add(static_cast<std::uint32_t>(above ? root + child : root - child));
    };
    if (position >= root) feed(position - root, n - 1 - root, true);
    if (position <= root) feed(root - position, root, false);
    return out;
  }
  const std::uint32_t node = position >= root ? position - root : position + n - root;
  const auto add = [&](std::uint64_t child) {
    out.add(static_cast<std::uint32_t>((child + root) % n));
  };
  if (shape == TreeShape::binomial) {
    // The farthest first: it has the largest subtree.
    std::uint32_t bit = node == 0 ? std::bit_ceil(n) : node & (~node + 1);
    for (bit >>= 1; bit != 0; bit >>= 1)
      if (std::uint64_t{node} + bit < n) add(std::uint64_t{node} + bit);
    return out;
  }
  const std::uint64_t k = width(*this);
  for (std::uint64_t child = node * k + 1; child <= node * k + k && child < n; ++child) add(child);
  return out;
}

std::uint32_t Tree::parent(std::uint32_t position) const noexcept {
  if (position == root) return root;
  if (shape == TreeShape::monotone) {
    return position > root ? root + (position - root - 1) / fan
                           : root - (root - position - 1) / fan;
  }
  const std::uint32_t node = position > root ? position - root : position + size - root;
  const std::uint32_t up =
      shape == TreeShape::binomial ? node & (node - 1) : (node - 1) / width(*this);
  return static_cast<std::uint32_t>((std::uint64_t{up} + root) % size);
}

}  // namespace lfc
