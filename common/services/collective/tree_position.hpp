// TreePosition: a node's place in the group of one communicator: its member number, and the operations that its host
// has begun. The parts of TreeNode share it: results, blocks and reductions.
//
// Threads: under ServicePort::Access, but for `failed` and `reason`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "services/collective/protocol/operation.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

// MulticastHeader::tag.
enum class NodeTag : std::uint8_t { result, contribution, question, reply, present, block };

struct TreePosition {
  TreePosition(Multicast& multicast_of, Multicast::Receiver& receiver_of) noexcept
      : multicast(multicast_of), receiver(receiver_of) {}

  Multicast& multicast;
  Multicast::Receiver& receiver;
  Multicast::Group* group = nullptr;
  std::uint32_t self = 0;
  std::vector<CollOperation*>
      begun;                   // of the host, in the order of their steps, in which they begin
  std::uint64_t begun_to = 0;  // the host has begun all lower steps
  std::atomic<bool> failed = false;
  std::atomic<MulticastReason> reason = MulticastReason::loss;  // if it has failed

  // The operation to which the step belongs; null: the host is past it, or has not begun it.
  CollOperation* find(std::uint64_t step) const noexcept {
    const auto found = std::find_if(begun.begin(), begun.end(),
                                    [&](const CollOperation* each) { return each->covers(step); });
    return found == begun.end() ? nullptr : *found;
  }
  // Whether this node has sent all its parts of a step.
  bool has_sent(std::uint64_t step) const noexcept {
    const CollOperation* const operation = find(step);
    return step < (operation == nullptr ? begun_to : operation->sent_to);
  }
  const Membership& members() const noexcept { return group->membership; }
  void give_up(Multicast::Reason why) { multicast.give_up(*group, why); }
  // Ends the group because members' calls differ; all members are sent that reason.
  void disagree() { give_up(Multicast::Reason::disagreement); }
};

}  // namespace lfc
