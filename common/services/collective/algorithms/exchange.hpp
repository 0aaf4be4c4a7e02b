// Exchange: allgather, alltoall and reduce-scatter of few bytes, one message from each node to each other.
//
//   if (bytes <= most_exchanged(members, packet, LFC_COLL_ALLTOALL)) ...       // all ranks decide alike
//   while (!walk_exchange(state, operation)) ...;
//
// Threads: the caller serialises each CommunicatorState.
#pragma once

#include <cstddef>

#include "services/collective/collective.hpp"

namespace lfc {

// Two steps of the board, and one packet in each direction between the leaders of two nodes.
bool walk_exchange(CommunicatorState& state, CollOperation& operation);
// How large the blocks of a rank may be: all of a node go into one packet and one room. On one node: of a
// reduce-scatter.
std::size_t most_exchanged(const Membership& members, std::size_t packet, lfc_coll_kind kind);

}  // namespace lfc
