#include "link/region.hpp"

#include "base/build_stamp.hpp"

namespace lfc {
namespace {

const BuildStamp stamp("region", {sizeof(RegionHandle), LinkTraits::kKinds});

}  // namespace

RegionHandle RegionTable::add(void* data, std::size_t size, std::uint32_t access) {
  Entry& entry = entries_.take();
  entry.address = reinterpret_cast<std::uint64_t>(data);
  entry.size = size;
  entry.access = access;
  RegionHandle handle;
  handle.id = index_of(entry.name);
  handle.generation = generation_of(entry.name);
  handle.address = entry.address;
  handle.size = size;
  return handle;
}

void RegionTable::remove(const RegionHandle& handle) noexcept {
  if (Entry* entry = entries_.find(name_of(handle.id, handle.generation)); entry != nullptr)
    entries_.give_back(*entry);
}

std::byte* RegionTable::resolve(std::uint32_t id, std::uint32_t generation, std::uint64_t address,
                                std::uint64_t size, std::uint32_t access) const noexcept {
  const Entry* entry = entries_.find(name_of(id, generation));
  if (entry == nullptr) return nullptr;
  const bool inside = address >= entry->address && address - entry->address <= entry->size &&
                      size <= entry->size - (address - entry->address);
  if (!inside || (entry->access & access) != access) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace lfc
