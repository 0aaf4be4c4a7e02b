#include "base/shared_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace lfc {
namespace {

// Returns the bytes to allocate: few sizes, so that spares fit later requests, and at most a quarter of them unused.
std::size_t room_for(std::size_t bytes) noexcept {
  const std::size_t step = std::max<std::size_t>(64, std::bit_ceil(bytes) / 8);
  return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
}

}  // namespace

SharedBytes allocate_bytes(std::size_t size) noexcept {
  using Block = SharedBytes::Block;
  static_assert(sizeof(Block) % alignof(std::uint64_t) == 0);
  void* const memory = ::operator new(sizeof(Block) + size, std::nothrow);
  if (memory == nullptr) return {};
  auto* const block = new (memory)
      Block{[](Block* self) noexcept { ::operator delete(static_cast<void*>(self)); }, 1};
  return {block, {reinterpret_cast<const std::byte*>(block + 1), size}};
}

SharedBytes copy_of(std::span<const std::byte> bytes) {
  SharedBytes made = allocate_bytes(bytes.size());
  if (!made) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(made.writable(), bytes.data(), bytes.size());
  return made;
}

BytesPool::~BytesPool() {
  for (const auto& [capacity, first] : spares_)
    for (Block* block = first; block != nullptr;)
      ::operator delete(std::exchange(block, block->next));
}

SharedBytes BytesPool::take(std::size_t size) {
  const std::size_t capacity = room_for(size);
  Block*& spares = spares_[capacity];  // made here, because give_back() must need no memory
  Block* block = spares;
  if (block == nullptr) {
    block = new (::operator new(sizeof(Block) + capacity))
        Block{{give_back, 0}, this, capacity, nullptr};
    memory_ += capacity;
  } else {
    spares = block->next;
    spare_ -= capacity;
  }
  block->owners = 1;
  return {block, {block->bytes(), size}};
}

SharedBytes BytesPool::copy(std::span<const std::byte> bytes) {
  SharedBytes made = take(bytes.size());
  if (!bytes.empty()) std::memcpy(made.writable(), bytes.data(), bytes.size());
  return made;
}

void BytesPool::give_back(SharedBytes::Block* shared) noexcept {
  auto* const block = static_cast<Block*>(shared);
  BytesPool& pool = *block->pool;
  if (pool.spare_ + block->capacity <= pool.most_spare_) {
    pool.spare_ += block->capacity;
    Block*& spares = pool.spares_.find(block->capacity)->second;
    block->next = std::exchange(spares, block);
    return;
  }
  pool.memory_ -= block->capacity;
  ::operator delete(block);
}

}  // namespace lfc
