// Membership: a regular group, which has no table, against the same group with a table.
#include "services/multicast/protocol/membership.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

struct Group {
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  Membership membership() const { return {names, nodes}; }
};

// `per_node` members in a row on each node, whose names have a distance.
Group regular(std::uint32_t size, std::uint32_t per_node, std::uint32_t distance) {
  Group group;
  for (std::uint32_t member = 0; member < size; ++member) {
    group.names.push_back({7, 5 + member * distance});
    group.nodes.push_back(1000 - member / per_node);
  }
  return group;
}

}  // namespace

TEST_CASE("a regular group has the names and nodes of one with a table", "[membership]") {
  const std::uint32_t size = GENERATE(1u, 2u, 7u, 8u, 12u, 24u);
  const std::uint32_t per_node = GENERATE(1u, 2u, 3u, 8u, 30u);
  const std::uint32_t distance = GENERATE(1u, 3u);
  const Group group = regular(size, per_node, distance);
  const Membership short_form = group.membership();
  REQUIRE(short_form.is_regular());
  // One member more, on its own node, with a name that has another distance: the same group before it.
  Group longer = group;
  longer.names.push_back({8, 0});
  longer.nodes.push_back(2000);
  const Membership table = longer.membership();
  REQUIRE_FALSE(table.is_regular());
  const std::uint32_t nodes = (size + per_node - 1) / per_node;
  REQUIRE(short_form.size() == size);
  REQUIRE(short_form.nodes() == nodes);
  for (std::uint32_t node = 0; node < nodes; ++node)
    REQUIRE(short_form.first(node) == table.first(node));
  for (std::uint32_t member = 0; member < size; ++member) {
    REQUIRE(short_form.name(member) == group.names[member]);
    REQUIRE(short_form.node(member) == table.node(member));
    for (std::uint32_t root = 0; root < size; ++root)
      REQUIRE(short_form.leader(root, member) == table.leader(root, member));
  }
}

TEST_CASE("every member of a regular group computes the same trees", "[membership]") {
  const std::uint32_t size = GENERATE(1u, 2u, 7u, 12u, 24u);
  const std::uint32_t per_node = GENERATE(1u, 2u, 3u, 30u);
  const Membership group = regular(size, per_node, 2).membership();
  REQUIRE(group.is_regular());
  const Membership::Shape shape{TreeShape::monotone, GENERATE(1u, 2u, 4u)};
  for (std::uint32_t root = 0; root < size; ++root) {
    std::uint32_t reached = 0;
    for (std::uint32_t member = 0; member < size; ++member) {
      if (!group.in_tree(root, member)) continue;
      ++reached;
      const std::uint32_t parent = group.parent(shape, root, member);
      if (member == root) {
        REQUIRE(parent == root);
        continue;
      }
      REQUIRE(group.in_tree(root, parent));
      if (parent != root) REQUIRE((member > parent) == (parent > root));  // monotone
      const Tree::Children children = group.children(shape, root, parent);
      REQUIRE(std::count(children.begin(), children.end(), member) == 1);
    }
    REQUIRE(reached == group.nodes());
  }
}

TEST_CASE("a regular group has the trees of one with a table", "[membership]") {
  const std::uint32_t size = GENERATE(3u, 7u, 12u, 24u);
  const std::uint32_t per_node = GENERATE(1u, 2u, 3u, 30u);
  Group group = regular(size, per_node, 2);
  const Membership short_form = group.membership();
  group.names.back().rank += 1;  // the order stays
  const Membership table = group.membership();
  REQUIRE((short_form.is_regular() && !table.is_regular()));
  for (const TreeShape kind : {TreeShape::monotone, TreeShape::binomial})
    for (const std::uint32_t fan : {1u, 2u, 4u})
      for (std::uint32_t root = 0; root < size; ++root)
        for (std::uint32_t member = 0; member < size; ++member) {
          REQUIRE(short_form.in_tree(root, member) == table.in_tree(root, member));
          if (!table.in_tree(root, member)) continue;
          const Membership::Shape shape{kind, fan};
          REQUIRE(short_form.parent(shape, root, member) == table.parent(shape, root, member));
          const Tree::Children some = short_form.children(shape, root, member);
          const Tree::Children others = table.children(shape, root, member);
          REQUIRE(std::equal(some.begin(), some.end(), others.begin(), others.end()));
        }
}

TEST_CASE("a group that is not regular keeps its table, which copies share", "[membership]") {
  Group group = regular(12, 3, 1);
  SECTION("a name is missing") { group.names.back().rank += 1; }
  SECTION("another job") { group.names.back() = {8, 0}; }
  SECTION("a node has fewer members") { group.nodes[5] = group.nodes[6]; }
  SECTION("a node has members apart") { group.nodes.back() = group.nodes.front(); }
  const Membership membership = group.membership();
  REQUIRE_FALSE(membership.is_regular());
  const Membership copy = membership;
  for (std::uint32_t i = 0; i < 12; ++i) {
    CHECK(copy.name(i) == group.names[i]);
    for (std::uint32_t j = 0; j < 12; ++j)
      CHECK((copy.node(i) == copy.node(j)) == (group.nodes[i] == group.nodes[j]));
  }
}

}  // namespace lfc
