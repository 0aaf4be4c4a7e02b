// make_room: room in a vector for elements that are added later, when nothing may throw any more.
//
//   make_room(entries, 2);                        // throws std::bad_alloc, and then nothing has changed
//   entries.push_back(open_first());              // throws nothing
//   entries.push_back(open_second());
//
// vector::reserve() would give each call exactly its room, so many calls would move all elements each time.
// Threads: the caller serialises. Tests: tests/unit/base/make_room_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lfc {

// Makes room for `more` elements. If the vector has to grow, its room at least doubles.
template <class T>
void make_room(std::vector<T>& elements, std::size_t more) {
  const std::size_t needed = elements.size() + more;
  if (needed > elements.capacity()) elements.reserve(std::max(needed, 2 * elements.capacity()));
}

}  // namespace lfc
