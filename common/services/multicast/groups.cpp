#include "services/multicast/groups.hpp"

#include <utility>

namespace lfc {

bool MulticastGroup::is_sound(const ServicePort& port, PeerId from,
                              const MulticastHeader& header) const {
  if (header.origin >= membership.size() || header.origin == self) return false;
  if (header.kind != MulticastHeader::Kind::tree) return is_member(port, header.origin, from);
  const Tree tree{header.shape, header.fan, membership.size(), header.origin};
  return tree.valid() && membership.in_tree(header.origin, self) &&
         comes_from_parent(port, from, header);
}

MulticastGroups::MulticastGroups(std::size_t early)
    : early_store_(std::make_shared<MulticastStore>(early)) {}

MulticastGroups::~MulticastGroups() { drop_packets(); }

void MulticastGroups::drop_packets() noexcept {
  for (auto& [key, list] : early_)
    for (MulticastPacket* packet : list) delete packet;
  early_.clear();
  for (auto& [key, group] : joined_)
    for (MulticastPacket* packet : std::exchange(group->deferred, {})) delete packet;
}

MulticastGroup* MulticastGroups::add(std::unique_ptr<MulticastGroup> group) {
  auto& place = joined_[group->key];
  place = std::move(group);
  return place.get();
}

void MulticastGroups::remove(MulticastGroup& group) noexcept {
  if (last_ == &group) last_ = nullptr;
  joined_.erase(group.key);
}

MulticastGroups::Packets MulticastGroups::take_early(std::uint64_t key) {
  const auto found = early_.find(key);
  if (found == early_.end()) return {};
  Packets list = std::move(found->second);
  early_.erase(found);
  return list;
}

}  // namespace lfc
