// Tree: parent and children of each member in a multicast, as arithmetic without memory or messages.
//
// A tree spans positions 0..size-1, which stand for the members of a group in increasing order of
// their ProcessName. Every member computes its own parent and children.
//
//   Tree tree{.shape = TreeShape::monotone, .fan = 2, .size = 8, .root = 3};
//   for (std::uint32_t child : tree.children(3)) send(member[child], packet);     // 4 5 2 1
//   std::uint32_t up = tree.parent(6);
//
// `monotone`: along every path from the root the positions only rise or only fall, so that any
// number of overlapping groups cannot wait for each other in a circle (README.md has the
// proof, tests/unit/services/multicast/tree_test.cpp the property). The root feeds up to `fan` members above itself
// and `fan` below; every other member up to `fan`.
// The other shapes are the thesis', relative to the root. They need recovery (services/multicast/protocol/recovery.hpp)
// as soon as groups overlap; `chain`, and `kary` with a fan of 1, also without overlap.
// Source: LFC thesis 4.2.4, 4.2.6 and appendix A; monotone trees are ours.
// Threads: a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lfc/words.h"

namespace lfc {

// The shapes, with their names in parameters, pages and the simulator.
#define LFC_TREE_SHAPES(ROW) \
  ROW(monotone, "monotone")  \
  ROW(binary, "binary")      \
  ROW(binomial, "binomial")  \
  ROW(chain, "chain")        \
  ROW(kary, "kary")
enum class TreeShape : std::uint8_t { LFC_TREE_SHAPES(LFC_VALUE) };
inline constexpr std::array kTreeNames{LFC_TREE_SHAPES(LFC_WORD)};

// Whether packets on overlapping trees of this shape can wait for each other in a circle.
constexpr bool can_deadlock(TreeShape shape) noexcept { return shape != TreeShape::monotone; }
// Whether Tree::fan sets the width; the other shapes have a fixed width.
constexpr bool has_fan(TreeShape shape) noexcept {
  return shape == TreeShape::monotone || shape == TreeShape::kary;
}

inline constexpr std::uint32_t kMaxFan = 16;

struct Tree {
  TreeShape shape = TreeShape::monotone;
  std::uint32_t fan = 2;  // children of an inner member, if it has_fan()
  std::uint32_t size = 1;
  std::uint32_t root = 0;

  class Children {
   public:
    const std::uint32_t* begin() const noexcept { return list_.data(); }
    const std::uint32_t* end() const noexcept { return list_.data() + count_; }
    std::uint32_t* begin() noexcept { return list_.data(); }
    std::uint32_t* end() noexcept { return list_.data() + count_; }
    std::uint32_t size() const noexcept { return count_; }

   private:
    friend struct Tree;
    void add(std::uint32_t position) noexcept { list_[count_++] = position; }
    std::array<std::uint32_t, std::size_t{2} * kMaxFan>
        list_;  // 32: also enough for a binomial tree
    std::uint32_t count_ = 0;
  };

  // Whether the fields make a tree. Fields from a peer must be checked.
  bool valid() const noexcept {
    return static_cast<std::size_t>(shape) < kTreeNames.size() && fan >= 1 && fan <= kMaxFan &&
           root < size;
  }
  Children children(std::uint32_t position) const noexcept;
  // Returns the parent; of the root, the root.
  std::uint32_t parent(std::uint32_t position) const noexcept;
};

}  // namespace lfc
