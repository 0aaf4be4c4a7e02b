// SparseTable: objects by index, each of which is made when it is first used. An index that was never used takes 1/8
// byte. Objects do not move.
//
//   SparseTable<Peer> peers(ranks);
//   peers.at(7).open = true;                      // made now, if this is its first use
//   if (const Peer* peer = peers.find(9)) ...     // null: never used
//   peers.for_each([](Peer& peer) { peer.open = false; });
//
// Threads: the caller serialises. Tests: tests/unit/base/sparse_table_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lfc {

template <class T>
class SparseTable {
 public:
  explicit SparseTable(std::uint32_t size) : blocks_((size + kBlock - 1) / kBlock), size_(size) {}

  // The indices are 0 to size() - 1.
  std::uint32_t size() const noexcept { return size_; }
  T* find(std::uint32_t index) const noexcept {
    const Block* const block = blocks_[index / kBlock].get();
    return block == nullptr ? nullptr : (*block)[index % kBlock].get();
  }
  // Returns the object of this index. Its first use makes it, with these arguments.
  template <class... Args>
  T& at(std::uint32_t index, Args&&... args) {
    std::unique_ptr<Block>& block = blocks_[index / kBlock];
    if (block == nullptr) block = std::make_unique<Block>();
    std::unique_ptr<T>& item = (*block)[index % kBlock];
    if (item == nullptr) item = std::make_unique<T>(std::forward<Args>(args)...);
    return *item;
  }
  // Calls visit(item) for those that have been made, by increasing index.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::unique_ptr<Block>& block : blocks_) {
      if (block == nullptr) continue;
      for (const std::unique_ptr<T>& item : *block)
        if (item != nullptr) visit(*item);
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  using Block = std::array<std::unique_ptr<T>, kBlock>;

  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint32_t size_;
};

}  // namespace lfc
