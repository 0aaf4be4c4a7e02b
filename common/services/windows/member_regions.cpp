#include "services/windows/member_regions.hpp"

namespace lfc {
namespace {

bool is_at_address(const LinkRegion& link, const RegionHandle& handle) noexcept {
  return link.base != 0 && link.base == handle.address;
}

}  // namespace

void MemberRegions::begin(const RegionHandle& first) noexcept {
  *this = {};
  name_ = name_of(first);
  for (std::size_t i = 0; i < kMaxLinks; ++i) {
    links_[i].key = first.links[i].key;
    links_[i].at_address = is_at_address(first.links[i], first);
  }
  compare(first);
}

void MemberRegions::compare(const RegionHandle& handle) noexcept {
  own_names_ = own_names_ || name_of(handle) != name_;
  for (std::size_t i = 0; i < kMaxLinks; ++i) {
    OnLink& link = links_[i];
    const LinkRegion& its = handle.links[i];
    link.own = link.own || its.key != link.key ||
               (link.at_address ? !is_at_address(its, handle) : its.base != 0);
  }
}

void MemberRegions::keep(const RegionHandle& handle) {
  if (own_names_) names_.push_back(name_of(handle));
  for (std::size_t i = 0; i < kMaxLinks; ++i)
    if (links_[i].own) own_.push_back({handle.links[i].key, handle.links[i].base});
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
  std::size_t next = std::size_t{rank} * own_links_;
  for (std::size_t i = 0; i < kMaxLinks; ++i) {
    const OnLink& link = links_[i];
    const Place place =
        link.own ? own_[next++] : Place{link.key, link.at_address ? address : std::uint64_t{0}};
    handle.links[i] = {place.key, place.base, nullptr};
  }
  return handle;
}

}  // namespace lfc
