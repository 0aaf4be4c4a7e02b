#include "services/collective/protocol/ranks.hpp"

namespace lfc {

Ranks::Ranks(Membership membership, std::uint32_t self, std::vector<std::uint32_t> ranks)
    : members_(std::move(membership)),
      self_(self),
      ranks_(std::move(ranks)),
      member_of_(ranks_.size()),
      lane_of_(ranks_.size()) {
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    member_of_[ranks_[member]] = member;
    if (members_.node(member) != members_.node(self)) continue;
    lane_of_[member] = lanes();
    local_.push_back(member);
  }
  lane_ = lane_of_[self];
}

}  // namespace lfc
