// SharedBytes: bytes with several owners. They stay until the last owner has gone, and do not change while there are
// two. BytesPool: memory for such bytes, used again.
//
//   BytesPool pool(1 << 20);
//   SharedBytes bytes = pool.take(64);
//   fill(bytes.writable(), bytes.size());                // by the only owner
//   const SharedBytes same = bytes;                      // another owner, no copy
//   const SharedBytes end = bytes.part(60, 4);           // an owner of all, that refers to four of them
//
// A pool's memory for some bytes has at most a quarter more than they need. Its spares hold at most the bytes given.
// Tests: tests/unit/base/shared_bytes_test.cpp. Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace lfc {

class SharedBytes {
 public:
  // The owners' common part. Its memory lies where its maker has put it.
  struct Block {
    void (*free)(Block* block) noexcept;  // called with the end of the last owner
    std::uint32_t owners;
  };

  SharedBytes() noexcept = default;
  // Takes over one owner of the block.
  SharedBytes(Block* block, std::span<const std::byte> bytes) noexcept
      : block_(block), bytes_(bytes) {}
  SharedBytes(const SharedBytes& other) noexcept : block_(other.block_), bytes_(other.bytes_) {
    if (block_ != nullptr) ++block_->owners;
  }
  SharedBytes(SharedBytes&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedBytes& operator=(SharedBytes other) noexcept {
    std::swap(block_, other.block_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedBytes() {
    if (block_ != nullptr && --block_->owners == 0) block_->free(block_);
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  bool has_others() const noexcept { return block_->owners > 1; }
  std::span<const std::byte> span() const noexcept { return bytes_; }
  const std::byte* data() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return bytes_.size(); }
  // For the only owner of bytes from a pool.
  std::byte* writable() noexcept { return const_cast<std::byte*>(bytes_.data()); }
  void shorten(std::size_t size) noexcept { bytes_ = bytes_.first(size); }
  SharedBytes part(std::size_t offset, std::size_t size) const noexcept {
    SharedBytes made(*this);
    made.bytes_ = bytes_.subspan(offset, size);
    return made;
  }

 private:
  Block* block_ = nullptr;
  std::span<const std::byte> bytes_;
};

// Returns memory of no pool, aligned as a word; none: memory is short.
SharedBytes allocate_bytes(std::size_t size) noexcept;
// Throws std::bad_alloc.
SharedBytes copy_of(std::span<const std::byte> bytes);

class BytesPool {
 public:
  explicit BytesPool(std::size_t spares) noexcept : most_spare_(spares) {}
  // All its bytes have ended.
  ~BytesPool();
  BytesPool(const BytesPool&) = delete;
  BytesPool& operator=(const BytesPool&) = delete;

  // Returns memory for `size` bytes, aligned as a word. Throws std::bad_alloc.
  SharedBytes take(std::size_t size);
  SharedBytes copy(std::span<const std::byte> bytes);
  // Bytes of memory in use and spare.
  std::size_t memory() const noexcept { return memory_; }
  std::size_t spare_bytes() const noexcept { return spare_; }

 private:
  struct Block : SharedBytes::Block {
    BytesPool* pool;
    std::size_t capacity;
    Block* next;  // of the spares of this capacity
    std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  };
  static_assert(sizeof(Block) % alignof(std::uint64_t) == 0);

  static void give_back(SharedBytes::Block* block) noexcept;

  const std::size_t most_spare_;
  std::map<std::size_t, Block*> spares_;  // by capacity: the first one
  std::size_t spare_ = 0;                 // bytes of all
  std::size_t memory_ = 0;
};

}  // namespace lfc
