#include "services/windows/member_regions.hpp"

#include <utility>

namespace lfc {
namespace {

bool is_at_address(const LinkRegion& link, const RegionHandle& handle) noexcept {
  return link.base != 0 && link.base == handle.address;
}

}  // namespace

void MemberRegions::compare(const RegionHandle& handle) noexcept {
  if (handle.size == 0) return;
  if (!std::exchange(any_, true)) {
    name_ = name_of(handle);
    for (std::size_t i = 0; i < LinkTraits::kKinds; ++i) {
      links_[i].key = handle.links[i].key;
      links_[i].at_address = is_at_address(handle.links[i], handle);
    }
  }
  own_names_ = own_names_ || name_of(handle) != name_;
  for (std::size_t i = 0; i < LinkTraits::kKinds; ++i) {
    OnLink& link = links_[i];
    const LinkRegion& its = handle.links[i];
    link.own_key = link.own_key || its.key != link.key;
    link.own_base =
        link.own_base || (link.at_address ? !is_at_address(its, handle) : its.base != 0);
  }
}

void MemberRegions::keep(const RegionHandle& handle) {
  if (own_names_) names_.push_back(name_of(handle));
  for (std::size_t i = 0; i < LinkTraits::kKinds; ++i) {
    if (links_[i].own_key) own_.push_back(handle.links[i].key);
    if (links_[i].own_base) own_.push_back(handle.links[i].base);
  }
}

RegionHandle MemberRegions::at(std::uint32_t rank, std::uint64_t address,
                               std::uint64_t size) const noexcept {
  RegionHandle handle;
  if (size == 0) return handle;
  const Name name = own_names_ ? names_[rank] : name_;
  handle.id = name.id;
  handle.generation = name.generation;
  handle.address = address;
  handle.size = size;
  std::size_t next = std::size_t{rank} * own_words_;
  for (std::size_t i = 0; i < LinkTraits::kKinds; ++i) {
    const OnLink& link = links_[i];
    handle.links[i].key = link.own_key ? own_[next++] : link.key;
    handle.links[i].base = link.own_base     ? own_[next++]
                           : link.at_address ? address
                                             : std::uint64_t{0};
  }
  return handle;
}

}  // namespace lfc
