// SharedMemory: memory of one process that its neighbours on the host map, without a name in any
// file system: nothing stays behind, whoever dies.
//
//   std::optional<SharedMemory> own = SharedMemory::create(bytes);
//   publish(own->name());
//   own->close();                                            // once all who should have mapped it
//   std::optional<SharedMemory> other = SharedMemory::open(name);   // in another process
//
// Sizes in bytes; the memory is zeroed and page-aligned. nullopt: the kernel refuses, or the name is
// not (any more) that of what its maker made. Threads: values; the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "link/shm/segment.hpp"

namespace lfc {

// Plain bytes that travel to neighbours.
struct SharedMemoryName {
  std::uint64_t device = 0;  // with the inode, what the descriptor must turn out to be
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // 0: there is none
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
};
static_assert(sizeof(SharedMemoryName) == 32);

class SharedMemory {
 public:
  static std::optional<SharedMemory> create(std::size_t size);
  static std::optional<SharedMemory> open(const SharedMemoryName& name);

  const SharedMemoryName& name() const noexcept { return name_; }
  std::byte* data() const noexcept { return mapping_.data(); }
  std::size_t size() const noexcept { return name_.size; }
  // Nobody can open it any more; mappings stay.
  void close() noexcept { fd_ = FileDescriptor(); }

 private:
  SharedMemory() = default;

  SharedMemoryName name_;
  FileDescriptor fd_;
  Mapping mapping_;
};

}  // namespace lfc
