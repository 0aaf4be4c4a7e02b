// The kinds and input values of calls in the simulation of collectives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lfc/collective_call.h"
#include "link/sim/random.hpp"

namespace lfc {

// A byte of a rank's contribution to a call; small numbers, so that no sum overflows any type.
inline std::byte given(std::size_t call, std::uint32_t rank, std::size_t at) noexcept {
  return static_cast<std::byte>((call * 31 + rank * 7 + at * 13 + (at >> 8)) % 5);
}

// A size near one of the limits.
inline std::size_t size_near(Random& random, std::size_t limit, std::size_t most) {
  const std::size_t base = limit * random.between(1, 3) + random.below(3);
  return std::min(base > 0 ? base - 1 : 0, most);
}

inline bool is_gather(const lfc_coll_call& call) noexcept {
  return call.kind == LFC_COLL_GATHER || call.kind == LFC_COLL_GATHERV;
}
inline bool is_scatter(const lfc_coll_call& call) noexcept {
  return call.kind == LFC_COLL_SCATTER || call.kind == LFC_COLL_SCATTERV;
}

inline bool is_among_neighbours(const lfc_coll_call& call) noexcept {
  return lfc_coll_is_among_neighbours(call.kind);
}

}  // namespace lfc
