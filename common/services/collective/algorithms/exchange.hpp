// Exchange: allgather, alltoall and reduce-scatter of few bytes, with one message from each node to each other one.
//
//   if (bytes <= most_exchanged(members, packet, LFC_COLL_ALLTOALL)) ...       // the same at all ranks
//   while (!walk_exchange(state, operation)) ...;
//
// Threads: the caller serialises each CommunicatorState.
#pragma once

#include <cstddef>

#include "services/collective/collective.hpp"

namespace lfc {

// Advances the operation: two steps of the board, and one packet in each direction between the leaders of two nodes.
bool walk_exchange(CommunicatorState& state, CollOperation& operation);
// The largest block of a rank, in bytes, so that all blocks of a node fit into one packet and one room. On one node it
// matters to a reduce-scatter only. 0: calls of this kind are not exchanged.
std::size_t most_exchanged(const Membership& members, std::size_t packet, lfc_coll_kind kind);

}  // namespace lfc
