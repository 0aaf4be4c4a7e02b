#include "services/collective/protocol/ranks.hpp"

#include <algorithm>

namespace lfc {

Ranks::Ranks(Membership membership, std::uint32_t self, std::vector<std::uint32_t> ranks)
    : members_(std::move(membership)), self_(self), size_(members_.size()) {
  bool in_order = true;
  for (std::uint32_t member = 0; member < size_; ++member) {
    in_order = in_order && ranks[member] == member;
    if (members_.node(member) == members_.node(self)) local_.push_back(member);
  }
  lane_ = lane_of(self);
  if (in_order) return;
  ranks_ = std::move(ranks);
  member_of_.resize(size_);
  for (std::uint32_t member = 0; member < size_; ++member) member_of_[ranks_[member]] = member;
}

std::uint32_t Ranks::lane_of(std::uint32_t member) const noexcept {
  if (local_.back() - local_.front() == local_.size() - 1) {  // members in a row
    const std::uint32_t lane = member - local_.front();
    return lane < local_.size() ? lane : 0;
  }
  const auto found = std::lower_bound(local_.begin(), local_.end(), member);
  return found != local_.end() && *found == member
             ? static_cast<std::uint32_t>(found - local_.begin())
             : 0;
}

}  // namespace lfc
