// Partial: the parts of one step of a reduction that have arrived at one node, its own and its children's. They arrive
// in any order and are always combined as own + (child 0 + child 1 + ...), so sums of the same floating-point numbers
// have the same bits.
//
//   Partial partial(children);
//   switch (partial.add(Partial::kOwn, bytes, combine, width)) {          // or Partial::child(i)
//     case Partial::Added::whole: send(partial.bytes()); }
//
// In this order the children's parts need not wait for the host, which may compute: when it contributes, they are one
// sum already. A part that arrives before its turn is copied.
// Threads: the caller serialises each object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "elements/combine.hpp"

namespace lfc {

class Partial {
 public:
  static constexpr std::uint32_t kOwn = 0;
  static constexpr std::uint32_t child(std::uint32_t index) noexcept { return index + 1; }

  explicit Partial(std::uint32_t children) noexcept : children_(children) {}

  // `wrong`: this part has arrived before, or does not exist. `differs`: its size is not that of the others, or its
  // elements cannot be combined.
  enum class Added : std::uint8_t { more, whole, wrong, differs };
  // `combine` may be null if there are no bytes.
  Added add(std::uint32_t part, std::span<const std::byte> bytes, Combiner combine,
            std::size_t width);
  bool has(std::uint32_t part) const noexcept { return (have_ >> part & 1) != 0; }
  bool is_whole() const noexcept { return folded_ == children_ && has(kOwn); }
  // The result, when whole.
  std::span<const std::byte> bytes() const noexcept { return sum_; }

 private:
  using Bytes = std::vector<std::byte>;
  void add_own(std::span<const std::byte> bytes, Combiner combine, std::size_t width);
  void fold(std::span<const std::byte> bytes, Combiner combine, std::size_t width);

  std::uint32_t children_;
  std::uint32_t folded_ = 0;  // of the children
  std::uint64_t have_ = 0;    // bit by part
  std::size_t size_ = 0;
  Bytes sum_;  // of the first `folded_` children; when whole, of all parts
  Bytes own_;  // until the children's sum is there
  std::map<std::uint32_t, Bytes> early_;  // children that are ahead of others, by index
};

}  // namespace lfc
