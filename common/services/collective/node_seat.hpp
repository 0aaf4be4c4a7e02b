// NodeSeat: a node's seat in the group of one communicator: who it is there, and how far its host has come. The parts
// of TreeNode share it: results, blocks and reductions.
//
// Threads: under ServicePort::Access, but for `failed` and `mismatch`.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/collective/operation.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

// MulticastHeader::tag.
enum class NodeTag : std::uint8_t { result, contribution, question, answer, present, block };

struct NodeSeat {
  NodeSeat(Multicast& multicast_of, Multicast::Receiver& receiver_of) noexcept
      : multicast(multicast_of), receiver(receiver_of) {}

  Multicast& multicast;
  Multicast::Receiver& receiver;
  Multicast::Group* group = nullptr;
  std::uint32_t self = 0;
  CollOperation* current = nullptr;  // that the host is in
  std::uint64_t own_next = 0;        // of lower steps this node has said all that it has to say
  std::atomic<bool> failed = false;
  std::atomic<bool> mismatch = false;

  const Membership& members() const noexcept { return group->membership; }
  void give_up(Multicast::Reason reason) { multicast.give_up(*group, reason); }
  // Calls of members are not the same: all are told why they get no further.
  void disagree() { give_up(Multicast::Reason::disagreement); }
};

}  // namespace lfc
