#include "link/region.hpp"

namespace lfc {

RegionHandle RegionTable::add(void* data, std::size_t size, std::uint32_t access) {
  std::uint32_t id = 0;
  if (free_.empty()) {
    id = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[id];
  entry.address = reinterpret_cast<std::uint64_t>(data);
  entry.size = size;
  entry.access = access;
  ++entry.generation;
  RegionHandle handle;
  handle.id = id;
  handle.generation = entry.generation;
  handle.address = entry.address;
  handle.size = size;
  return handle;
}

void RegionTable::remove(const RegionHandle& handle) noexcept {
  if (handle.id >= entries_.size()) return;
  Entry& entry = entries_[handle.id];
  if (entry.generation != handle.generation || (entry.generation & 1) == 0) return;
  ++entry.generation;
  free_.push_back(handle.id);
}

std::byte* RegionTable::resolve(std::uint32_t id, std::uint32_t generation, std::uint64_t address,
                                std::uint64_t size, std::uint32_t access) const noexcept {
  if (id >= entries_.size()) return nullptr;
  const Entry& entry = entries_[id];
  const bool live = entry.generation == generation && (generation & 1) != 0;
  const bool inside = address >= entry.address && address - entry.address <= entry.size &&
                      size <= entry.size - (address - entry.address);
  if (!live || !inside || (entry.access & access) != access) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace lfc
