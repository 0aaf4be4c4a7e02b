// RegisteredMemory: the local memory that peers of a tcp link may read and write.
//
//   LinkRegion region = memory.add(data, size);
//   memory.access(key, address, size, [&](std::byte* at) { if (at != nullptr) copy(at); });
//   memory.remove(region);     // returns when no access is inside; later ones get nullptr
//
// Threads: any. An access excludes remove(), so memory is never touched once it is given back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/link.hpp"
#include "link/region.hpp"
#include "sync/send_lock.hpp"

namespace lfc::tcp {

class RegisteredMemory {
 public:
  explicit RegisteredMemory(bool threads) noexcept : lock_(threads) {}

  LinkRegion add(void* data, std::size_t size) {
    const SendLock::Guard guard(lock_);
    const RegionHandle handle = table_.add(data, size, kRemoteRead | kRemoteWrite);
    return {std::uint64_t{handle.generation} << 32 | handle.id, handle.address, nullptr};
  }

  void remove(const LinkRegion& region) noexcept {
    const SendLock::Guard guard(lock_);
    RegionHandle handle;
    handle.id = id_of(region.key);
    handle.generation = generation_of(region.key);
    table_.remove(handle);
  }

  // Calls use(memory), or use(nullptr) when the access is not permitted.
  template <class Use>
  auto access(std::uint64_t key, std::uint64_t address, std::uint64_t size, Use use) noexcept {
    const SendLock::Guard guard(lock_);
    return use(table_.resolve(id_of(key), generation_of(key), address, size, 0));
  }

 private:
  static std::uint32_t id_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key); }
  static std::uint32_t generation_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> 32);
  }

  SendLock lock_;
  RegionTable table_;
};

}  // namespace lfc::tcp
