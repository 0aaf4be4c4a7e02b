// Bundle: small puts and accumulates to one target that leave in one frame, in the order of their calls.
//
//   if (bundle.size() + bytes > pool.room(frame)) return false;     // full: it has to leave first
//   pool.reserve(bundle, bytes);                                    // bytes: Bundle::room_for(8)
//   bundle.add({offset, 8, kind, operation, element, 0}, operands);
//   if (!is_bundle(payload)) return false;                          // the receiver
//   BundleReader next(payload);
//   for (; next; next.advance()) apply(next.entry(), next.operands());
//   return next.at_end();                                           // false: its sender has changed it since
//
// The receiver checks all of a frame before it changes anything, and then applies the operations one by one. The frame
// may lie in memory that its sender can change, so each entry is checked again when it is applied.
// A put of whole words that continues the last one extends it; the target stores aligned words in one piece. Sizes are
// bytes.
// Threads: the caller serialises. Tests: tests/unit/services/windows/bundle_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "base/spares.hpp"
#include "services/windows/protocol/frames.hpp"

namespace lfc::rma {

class Bundle {
 public:
  // Returns the most bytes that an operation with so many operands takes.
  static constexpr std::uint64_t room_for(std::uint64_t operands) noexcept {
    return sizeof(BundleEntry) + padded(operands);
  }

  std::size_t size() const noexcept { return bytes_.size(); }
  std::size_t capacity() const noexcept { return bytes_.capacity(); }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // Whether the link is to copy it, which has only puts then (origin.cpp).
  bool by_link() const noexcept { return by_link_; }
  void let_link_copy() noexcept { by_link_ = true; }
  // The operations added since the last clear().
  std::uint32_t operations() const noexcept { return operations_; }
  // Makes room for so many more bytes; add() needs it. Throws std::bad_alloc, and then nothing has changed.
  void reserve(std::uint64_t bytes);
  void add(const BundleEntry& entry, const std::byte* operands) noexcept;
  void clear() noexcept;

 private:
  friend class BundleReader;
  static constexpr std::uint64_t padded(std::uint64_t bytes) noexcept {
    return (bytes + 7) & ~std::uint64_t{7};
  }
  bool extend(const BundleEntry& entry, const std::byte* operands) noexcept;

  std::vector<std::byte> bytes_;  // entries, each followed by its padded operands
  std::size_t last_ = 0;          // where the last entry begins
  std::uint32_t operations_ = 0;
  bool by_link_ = false;
};

// The open bundles of the process. When their memory exceeds kWindowBundles, each is full at kWindowSmallBundle bytes.
class BundlePool {
 public:
  std::unique_ptr<Bundle> take();
  void reserve(Bundle& bundle, std::uint64_t bytes);
  void give_back(std::unique_ptr<Bundle> bundle) noexcept;
  // Returns the size that a bundle may have now if a payload has at most `frame` bytes.
  std::size_t room(std::size_t frame) const noexcept;

 private:
  static constexpr std::size_t kSpares = 16;
  Spares<Bundle, kSpares> spares_;
  std::size_t held_ = 0;  // capacity of those taken
};

// Returns whether the bytes are valid operations, one after the other, with nothing behind the last.
bool is_bundle(std::span<const std::byte> bytes) noexcept;

// Walks over a bundle, and reads each entry once. Beyond the end, and from an invalid entry on, it is false.
class BundleReader {
 public:
  explicit BundleReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) { read(); }
  explicit operator bool() const noexcept { return good_; }
  const BundleEntry& entry() const noexcept { return entry_; }
  const std::byte* operands() const noexcept { return rest_.data() + sizeof entry_; }
  void advance() noexcept;
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  void read() noexcept;

  std::span<const std::byte> rest_;
  BundleEntry entry_{};
  bool good_ = false;
};

}  // namespace lfc::rma
