// Column: a value for each index. If all values are equal, it keeps one, and takes no memory for an index.
//
//   Column<std::uint32_t> units(1);                // 1 for any index
//   units.set(ranks, [&](std::uint32_t rank) { return facts[rank].displacement_unit; });
//   const std::uint32_t unit = units[3];
//
// Threads: const after set(). Tests: tests/unit/base/column_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace lfc {

template <class T>
class Column {
 public:
  explicit Column(T common = {}) noexcept : common_(common) {}

  // Takes value_of(index) for the indices below `size`. Throws std::bad_alloc, and then nothing has changed.
  template <class ValueOf>
  void set(std::uint32_t size, ValueOf value_of) {
    if (size == 0) return;
    const T first = value_of(0);
    std::uint32_t equal = 1;
    while (equal < size && value_of(equal) == first) ++equal;
    std::vector<T> own;
    if (equal < size) own.reserve(size);
    for (std::uint32_t i = 0; equal < size && i < size; ++i) own.push_back(value_of(i));
    common_ = first;
    own_.swap(own);
  }
  // Returns whether all values are equal.
  bool is_uniform() const noexcept { return own_.empty(); }
  T operator[](std::uint32_t index) const noexcept { return is_uniform() ? common_ : own_[index]; }

 private:
  T common_;
  std::vector<T> own_;  // by index, if they differ
};

}  // namespace lfc
