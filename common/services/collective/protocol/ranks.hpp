// Ranks: the members of a communicator in the order of their names, their ranks in MPI, and the lanes of those that
// share this rank's node.
//
//   Ranks ranks(membership, self, rank_of_member);
//   std::uint32_t root = ranks.member_of(call.root);
//   for (std::uint32_t lane = 0; lane < ranks.lanes(); ++lane) use(ranks.local()[lane]);
//
// Memory: none for each member if the ranks are in the order of the names, else 8 bytes, beside those of Membership.
// Invariants: rank_of() and member_of() undo each other; lanes count the members of this node in their order
// (tests/unit/services/collective/ranks_test.cpp). Threads: const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/multicast/protocol/membership.hpp"

namespace lfc {

class Ranks {
 public:
  // `ranks`: the rank of each member.
  Ranks(Membership membership, std::uint32_t self, std::vector<std::uint32_t> ranks);

  const Membership& members() const noexcept { return members_; }
  std::uint32_t self() const noexcept { return self_; }
  std::uint32_t rank_of(std::uint32_t member) const noexcept {
    return ranks_.empty() ? member : ranks_[member];
  }
  std::uint32_t member_of(int rank) const noexcept {
    return member_of_.empty() ? static_cast<std::uint32_t>(rank)
                              : member_of_[static_cast<std::size_t>(rank)];
  }

  // --- Members on this node, by lane ---

  const std::vector<std::uint32_t>& local() const noexcept { return local_; }
  std::uint32_t lanes() const noexcept { return static_cast<std::uint32_t>(local_.size()); }
  std::uint32_t lane() const noexcept { return lane_; }
  // 0 for a member on another node.
  std::uint32_t lane_of(std::uint32_t member) const noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look

  const Membership members_;
  const std::uint32_t self_;
  const std::uint32_t size_;
  std::vector<std::uint32_t> ranks_;      // by member; empty: rank i is member i
  std::vector<std::uint32_t> member_of_;  // by rank; likewise
  std::vector<std::uint32_t> local_;      // members on this node, in order: lane i is local_[i]
  std::uint32_t lane_ = 0;
};

}  // namespace lfc
