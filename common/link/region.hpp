// RegionTable: the pieces of local memory that peers may read and write.
//
// A `RegionHandle` is plain bytes (<= 256, Open MPI's limit for a registration handle) that the
// host gives to peers by its own means; a peer's put, get or atomic names it. Every access that
// the NI serves is checked against the table: id, generation, bounds and permission.
//
// It has a part for each kind of link, because the position of a link in a list differs between processes
// (tests/unit/engine/link_lists_test.cpp).
//
//   RegionHandle handle = table.add(buffer, size, kRemoteRead | kRemoteWrite);
//   std::byte* where = table.resolve(handle.id, handle.generation, address, size, kRemoteWrite);
//   table.remove(handle);          // stale handles are refused from now on
//
// Threads: the caller serialises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/named_pool.hpp"
#include "lfc/numbers.h"
#include "link/link.hpp"

namespace lfc {

enum Access : std::uint32_t {
  kRemoteRead = LFC_READ,
  kRemoteWrite = LFC_WRITE,
  kRemoteAtomic = LFC_ATOMIC
};

struct RegionHandle {
  std::uint32_t id = 0;
  std::uint32_t generation = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::array<LinkRegion, LinkTraits::kKinds> links{};

  // The part of this link; at a peer, of the owner's link of the same kind.
  LinkRegion& of(const Link& link) noexcept { return links[place(link)]; }
  const LinkRegion& of(const Link& link) const noexcept { return links[place(link)]; }

 private:
  static std::size_t place(const Link& link) noexcept {
    return static_cast<std::size_t>(link.traits().kind);
  }
};
static_assert(sizeof(RegionHandle) <= 256);

class RegionTable {
 public:
  // Enters [data, data+size) with the given Access bits; fills id, generation, address, size.
  RegionHandle add(void* data, std::size_t size, std::uint32_t access);
  void remove(const RegionHandle& handle) noexcept;
  // Returns the local memory for an access that a peer requests, or nullptr when any check fails.
  std::byte* resolve(std::uint32_t id, std::uint32_t generation, std::uint64_t address,
                     std::uint64_t size, std::uint32_t access) const noexcept;

 private:
  struct Entry {
    std::uint64_t name = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t access = 0;
  };
  NamedPool<Entry> entries_;
};

}  // namespace lfc
