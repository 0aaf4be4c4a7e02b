// Far: whether a round trip over a link costs more than a copy of its largest frame. A get then costs a
// request to another node's processor and a reply.
//
//   if (is_far(ni.link_traits(peer))) send_at_once();
//
// Held by tests/mpi/far.c.
#pragma once

#include "link/traits.hpp"

namespace lfc {

inline bool is_far(const LinkTraits& link) noexcept {
  return link.remote_memory && !link.copies_at_once && !link.one_sided && !link.registration_costs;
}

}  // namespace lfc
