// RegisteredMemory: the local memory that peers of a tcp link may read and write.
//
//   LinkRegion region = memory.add(data, size);
//   memory.access(key, address, size, [&](std::byte* at) { if (at != nullptr) copy(at); });
//   memory.remove(region);     // later accesses get nullptr
//
// Threads: as Link. After remove() the memory is never touched again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/link.hpp"
#include "link/region.hpp"

namespace lfc::tcp {

class RegisteredMemory {
 public:
  LinkRegion add(void* data, std::size_t size) {
    const RegionHandle handle = table_.add(data, size, kRemoteRead | kRemoteWrite);
    return {std::uint64_t{handle.generation} << 32 | handle.id, handle.address, nullptr};
  }

  void remove(const LinkRegion& region) noexcept {
    RegionHandle handle;
    handle.id = id_of(region.key);
    handle.generation = generation_of(region.key);
    table_.remove(handle);
  }

  // Calls use(memory), or use(nullptr) when the access is not permitted.
  template <class Use>
  auto access(std::uint64_t key, std::uint64_t address, std::uint64_t size, Use use) noexcept {
    return use(table_.resolve(id_of(key), generation_of(key), address, size, 0));
  }

 private:
  static std::uint32_t id_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key); }
  static std::uint32_t generation_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> 32);
  }

  RegionTable table_;
};

}  // namespace lfc::tcp
