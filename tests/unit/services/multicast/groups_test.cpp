// The groups of a process, the check of senders, and packets that arrive before their group is joined.
#include "services/multicast/groups.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;

namespace {

// Member 1 of four, each on its own node.
std::unique_ptr<MulticastGroup> group_with(std::uint64_t key) {
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t member = 0; member < 4; ++member) {
    names.push_back({1, member});
    nodes.push_back(member);
  }
  auto made = std::make_unique<MulticastGroup>();
  made->key = key;
  made->membership = Membership(names, nodes);
  made->self = 1;
  return made;
}

}  // namespace

TEST_CASE("a group is found while it is joined", "[multicast]") {
  MulticastGroups groups(100);
  CHECK(groups.find(9) == nullptr);
  MulticastGroup* const nine = groups.add(group_with(9));
  MulticastGroup* const ten = groups.add(group_with(10));
  CHECK(groups.find(9) == nine);
  CHECK(groups.find(10) == ten);
  CHECK(groups.find(9) == nine);
  groups.remove(*nine);
  CHECK(groups.find(9) == nullptr);
  CHECK(groups.find(10) == ten);
}

TEST_CASE("packets that arrive before their group exists wait for it in order", "[multicast]") {
  MulticastGroups groups(100);
  CHECK(groups.take_early(9).empty());
  auto* const one = new MulticastPacket;
  auto* const two = new MulticastPacket;
  groups.early(9) = {one, two};
  groups.early(10).push_back(new MulticastPacket);  // never joined: freed with the table
  const MulticastGroups::Packets came = groups.take_early(9);
  CHECK(came == MulticastGroups::Packets{one, two});
  CHECK(groups.take_early(9).empty());
  for (MulticastPacket* packet : came) delete packet;
}

TEST_CASE("a packet is sound if it comes from its parent in its tree, or else from its origin",
          "[multicast]") {
  const FakePort port;
  const auto group = group_with(9);
  MulticastHeader header;
  header.origin = 0;
  header.fan = 1;
  CHECK(group->is_sound(port, 0, header));
  CHECK_FALSE(group->is_sound(port, 2, header));
  header.origin = 3;  // a falling path: 3, 2, 1
  CHECK(group->is_sound(port, 2, header));
  CHECK_FALSE(group->is_sound(port, 3, header));
  header.kind = MulticastHeader::Kind::direct;
  CHECK(group->is_sound(port, 3, header));
  CHECK_FALSE(group->is_sound(port, 2, header));
  for (const std::uint32_t nobody : {1u, 4u}) {
    header.origin = nobody;
    CHECK_FALSE(group->is_sound(port, 1, header));
  }
  header.kind = MulticastHeader::Kind::tree;
  header.origin = 0;
  header.fan = 0;  // not a tree
  CHECK_FALSE(group->is_sound(port, 0, header));
}
