// has_room_for: whether a component has room for a table of counters, when it registers and prints them
// (mca/parameters.c).
//
//   static_assert(has_room_for(kNeonCounters));   // rows with a member `name`
//
// Threads: a pure function.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "lfc/numbers.h"

namespace lfc {

template <class Rows>
constexpr bool has_room_for(const Rows& rows) noexcept {
  std::size_t line = 0;
  for (const auto& row : rows)
    line += std::string_view(row.name).size() + std::string_view("= 18446744073709551615").size();
  return std::size(rows) <= LFC_MOST_COUNTERS && line <= LFC_COUNTERS_LINE;
}

}  // namespace lfc
