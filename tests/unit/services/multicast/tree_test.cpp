// Trees: each shape spans its group, and monotone trees cannot wait in a circle.
#include "services/multicast/protocol/tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

using Members = std::vector<std::uint32_t>;  // process ids, increasing
using Edge = std::pair<std::uint32_t, std::uint32_t>;

// Every member but the root is the child of exactly one member, which it knows as its parent.
bool spans(const Tree& tree) {
  std::vector<bool> seen(tree.size);
  Members front{tree.root};
  seen[tree.root] = true;
  std::uint32_t count = 1;
  while (!front.empty()) {
    const std::uint32_t at = front.back();
    front.pop_back();
    for (const std::uint32_t child : tree.children(at)) {
      if (child >= tree.size || seen[child] || tree.parent(child) != at) return false;
      seen[child] = true;
      ++count;
      front.push_back(child);
    }
  }
  return count == tree.size && tree.parent(tree.root) == tree.root;
}

// "A packet on edge (a, b) may wait for room on edge (b, c)": the waiting graph of all trees.
class Waits {
 public:
  void add(const Members& members, Tree tree) {
    tree.size = static_cast<std::uint32_t>(members.size());
    for (std::uint32_t at = 0; at < tree.size; ++at) {
      if (at == tree.root) continue;
      const Edge in{members[tree.parent(at)], members[at]};
      for (const std::uint32_t child : tree.children(at))
        edges_[in].insert({members[at], members[child]});
    }
  }
  bool cyclic() {
    std::map<Edge, int> colour;
    for (const auto& [edge, next] : edges_)
      if (visit(edge, colour)) return true;
    return false;
  }

 private:
  bool visit(const Edge& edge, std::map<Edge, int>& colour) {
    const int before = std::exchange(colour[edge], colour[edge] == 0 ? 1 : colour[edge]);
    if (before != 0) return before == 1;
    const auto found = edges_.find(edge);
    if (found != edges_.end())
      for (const Edge& next : found->second)
        if (visit(next, colour)) return true;
    colour[edge] = 2;
    return false;
  }
  std::map<Edge, std::set<Edge>> edges_;
};

std::vector<TreeShape> shapes() {
  std::vector<TreeShape> all;
  for (std::size_t shape = 0; shape < kTreeNames.size(); ++shape)
    all.push_back(static_cast<TreeShape>(shape));
  return all;
}

Members random_group(Random& random, std::uint32_t processes) {
  Members members;
  while (members.size() < 2) {
    members.clear();
    for (std::uint32_t id = 0; id < processes; ++id)
      if (random.chance(500)) members.push_back(id);
  }
  return members;
}

}  // namespace

TEST_CASE("every tree spans its group", "[tree]") {
  for (const TreeShape shape : shapes()) {
    for (std::uint32_t size = 1; size <= 64; ++size)
      for (std::uint32_t fan = 1; fan <= 8; ++fan)
        for (std::uint32_t root = 0; root < size; ++root) {
          const Tree tree{shape, fan, size, root};
          if (!tree.valid() || !spans(tree)) {
            CAPTURE(static_cast<int>(shape), size, fan, root);
            REQUIRE(spans(tree));
          }
        }
  }
}

TEST_CASE("paths of monotone trees only rise or only fall", "[tree]") {
  for (std::uint32_t size = 1; size <= 64; ++size)
    for (std::uint32_t fan = 1; fan <= 8; ++fan)
      for (std::uint32_t root = 0; root < size; ++root) {
        const Tree tree{TreeShape::monotone, fan, size, root};
        for (std::uint32_t at = 0; at < size; ++at)
          for (const std::uint32_t child : tree.children(at)) {
            const bool rises = child > at;
            if (at != root && rises != (at > root)) {
              CAPTURE(size, fan, root, at, child);
              REQUIRE(rises == (at > root));
            }
          }
      }
}

TEST_CASE("overlapping groups: trees that cannot deadlock never wait in a circle, the others do",
          "[tree]") {
  Random random(11);
  std::map<TreeShape, int> cycles;
  for (int round = 0; round < 150; ++round) {
    const auto processes = static_cast<std::uint32_t>(random.between(4, 64));
    Waits safe;  // of all such shapes together
    std::map<TreeShape, Waits> others;
    for (int group = 0; group < 8; ++group) {
      const Members members = random_group(random, processes);
      for (std::uint32_t root = 0; root < members.size(); ++root) {
        // Mixed fan-outs, because message sizes select them.
        const auto fan = static_cast<std::uint32_t>(random.between(1, 8));
        for (const TreeShape shape : shapes())
          if (!can_deadlock(shape))
            safe.add(members, {shape, fan, 1, root});
          else if (cycles[shape] == 0)  // until a cycle is found
            others[shape].add(members, {shape, fan, 1, root});
      }
    }
    REQUIRE_FALSE(safe.cyclic());
    for (auto& [shape, waits] : others) cycles[shape] += waits.cyclic() ? 1 : 0;
  }
  for (const TreeShape shape : shapes()) {
    INFO(kTreeNames[static_cast<std::size_t>(shape)]);
    CHECK((cycles[shape] > 0) == can_deadlock(shape));  // proves that the check finds circles
  }
}

TEST_CASE("only trees that have a fan-out are shaped by it", "[tree]") {
  for (const TreeShape shape : shapes()) {
    INFO(kTreeNames[static_cast<std::size_t>(shape)]);
    const auto narrow = Tree{shape, 1, 20, 0}.children(0).size();
    CHECK((Tree{shape, 5, 20, 0}.children(0).size() != narrow) == has_fan(shape));
  }
}

TEST_CASE("the overlap example of the thesis is a circle with its trees only", "[tree]") {
  const std::vector<std::pair<Members, std::uint32_t>> example = {
      {{0, 3, 4, 5, 6}, 0}, {{0, 3, 6, 7, 8}, 3}, {{0, 1, 2, 3, 6}, 6}};
  Waits seed;
  Waits monotone;
  for (const auto& [members, root] : example) {
    const auto position = static_cast<std::uint32_t>(
        std::find(members.begin(), members.end(), root) - members.begin());
    seed.add(members, {TreeShape::binary, 2, 1, position});
    monotone.add(members, {TreeShape::monotone, 2, 1, position});
  }
  REQUIRE(seed.cyclic());
  REQUIRE_FALSE(monotone.cyclic());
}

TEST_CASE("one group: the seed's rule holds for its heap and binomial trees, not for chains",
          "[tree]") {
  for (const auto& [shape, cyclic] :
       {std::pair{TreeShape::binary, false}, std::pair{TreeShape::binomial, false},
        std::pair{TreeShape::chain, true}}) {
    Members members;
    for (std::uint32_t id = 0; id < 13; ++id) members.push_back(id);
    Waits waits;
    for (std::uint32_t root = 0; root < members.size(); ++root)
      waits.add(members, {shape, 2, 1, root});
    REQUIRE(waits.cyclic() == cyclic);
  }
}

TEST_CASE("trees from the wire are checked", "[tree]") {
  REQUIRE(Tree{TreeShape::monotone, 1, 4, 3}.valid());
  REQUIRE_FALSE(Tree{TreeShape::monotone, 0, 4, 3}.valid());
  REQUIRE_FALSE(Tree{TreeShape::monotone, 17, 4, 3}.valid());
  REQUIRE_FALSE(Tree{TreeShape::monotone, 2, 4, 4}.valid());
  REQUIRE_FALSE(Tree{static_cast<TreeShape>(9), 2, 4, 0}.valid());
}

}  // namespace lfc
