#include "machine/address_room.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

namespace lfc {

bool AddressRoom::is_limited() noexcept {
  rlimit addresses{};
  return ::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
}

AddressRoom AddressRoom::keep(std::size_t size, std::size_t spare) noexcept {
  AddressRoom room;
  if (!is_limited()) return room;
  void* const data =
      mmap(nullptr, size + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  room.refused_ = data == MAP_FAILED;
  if (room.refused_) return room;
  room.data_ = data;
  room.size_ = size;
  munmap(static_cast<char*>(data) + size, spare);
  return room;
}

void AddressRoom::release() noexcept {
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), size_);
}

}  // namespace lfc
