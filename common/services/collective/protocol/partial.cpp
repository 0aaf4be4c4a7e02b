#include "services/collective/protocol/partial.hpp"

#include <utility>

namespace lfc {
namespace {

// out = a + b; all have the same length.
void merge(std::span<const std::byte> a, std::span<const std::byte> b, std::vector<std::byte>& out,
           Combiner combine, std::size_t width) {
  if (!out.empty()) combine(a.data(), b.data(), out.data(), out.size() / width);
}

}  // namespace

Partial::Added Partial::add(std::uint32_t part, std::span<const std::byte> bytes, Combiner combine,
                            std::size_t width) {
  if (part > children_ || part >= 64 || has(part)) return Added::wrong;
  if (have_ == 0) size_ = bytes.size();
  if (bytes.size() != size_ || (size_ > 0 && (combine == nullptr || size_ % width != 0)))
    return Added::differs;
  have_ |= std::uint64_t{1} << part;
  if (part == kOwn) {
    add_own(bytes, combine, width);
  } else if (part != child(folded_)) {
    early_.emplace(part, Bytes(bytes.begin(), bytes.end()));
  } else {
    fold(bytes, combine, width);
    for (auto next = early_.begin(); next != early_.end() && next->first == child(folded_);
         next = early_.erase(next))
      fold(next->second, combine, width);
  }
  return is_whole() ? Added::whole : Added::more;
}

void Partial::add_own(std::span<const std::byte> bytes, Combiner combine, std::size_t width) {
  if (children_ == 0) {
    sum_.assign(bytes.begin(), bytes.end());
  } else if (folded_ < children_) {
    own_.assign(bytes.begin(), bytes.end());
  } else {
    merge(bytes, sum_, sum_, combine, width);
  }
}

// Adds the next child's part. With the last child it also combines the node's own part, if that is there.
void Partial::fold(std::span<const std::byte> bytes, Combiner combine, std::size_t width) {
  const bool last = ++folded_ == children_;
  if (folded_ > 1) {
    merge(sum_, bytes, sum_, combine, width);
    if (last && has(kOwn)) merge(own_, sum_, sum_, combine, width);
  } else if (last && has(kOwn)) {
    merge(own_, bytes, own_, combine, width);
    sum_ = std::exchange(own_, {});
  } else {
    sum_.assign(bytes.begin(), bytes.end());
  }
}

}  // namespace lfc
