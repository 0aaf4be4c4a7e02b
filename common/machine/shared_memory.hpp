// SharedMemory: memory of one process that its local peers map. It has no name in any file system, so nothing stays
// behind when a process ends.
//
//   std::optional<SharedMemory> own = SharedMemory::create(bytes, why_not);
//   publish(own->name());                                                    // plain bytes
//   own->close();                                                            // once all members have mapped it
//   std::optional<SharedMemory> theirs = SharedMemory::open(name, why_not);  // in another process
//
// SharedFile is such memory, of which each side maps the parts that it needs.
//
// It is opened as /proc/PID/fd/FD. If that is not permitted, its maker hands it over, provided that it knows that a
// peer needs that (machine/hand_over.hpp).
//
// Only the memory that its maker made can be opened. Its target is read before it is opened, because opening a FIFO or
// a device could block or have side effects. The file must have the name with the maker's random cookie, the device and
// inode that the maker published, and our own user as its owner. It must be sealed against shrinking, so no access
// inside its size ever faults. Held by tests/unit/machine/shared_memory_test.cpp, one case for each of these.
//
// Sizes in bytes; the memory is zeroed and page-aligned. nullopt: `why_not` has the reason. Threads: values; the caller
// serialises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "machine/file_descriptor.hpp"
#include "machine/mapping.hpp"

namespace lfc {

// Plain bytes that travel to local peers.
struct SharedMemoryName {
  std::array<std::uint64_t, 2> cookie{};  // random; part of the file's name
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // at least; 0: there is none
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
};
static_assert(sizeof(SharedMemoryName) == 48);

class SharedFile {
 public:
  SharedFile() = default;
  static std::optional<SharedFile> create(std::size_t size, std::string& why_not);
  // From another pid namespace this works only with `process`, which becomes a pidfd of its maker, because the pid in
  // the name means nothing here.
  static std::optional<SharedFile> open(const SharedMemoryName& name, std::string& why_not,
                                        FileDescriptor* process = nullptr);

  const SharedMemoryName& name() const noexcept { return name_; }
  // Not open if the kernel refuses, or if the part is not within the file.
  Mapping map(std::size_t offset, std::size_t size) const noexcept;
  // For the owner: makes the file at least this long. Mapped parts stay. False: the kernel refuses.
  bool grow(std::size_t size) noexcept;
  // Gives the pages in this range back to the kernel, so they are zeros again. False: the kernel refuses.
  bool discard(std::size_t offset, std::size_t size) noexcept;
  // Bytes for which the kernel has allocated pages.
  std::size_t used() const noexcept;
  // Makes further opens impossible; mappings stay.
  void close() noexcept { fd_ = nullptr; }

 private:
  SharedMemoryName name_;
  std::shared_ptr<const FileDescriptor> fd_;  // may be requested as long as it exists
};

// Returns the bytes of the whole pages that `size` bytes take.
std::size_t round_to_pages(std::size_t size) noexcept;

// Returns whether the process that made this has certainly ended; a failed open alone does not prove that. For
// processes that use the same pids (machine/local_peer.hpp).
bool is_gone(const SharedMemoryName& name);

class SharedMemory {
 public:
  static std::optional<SharedMemory> create(std::size_t size, std::string& why_not);
  static std::optional<SharedMemory> open(const SharedMemoryName& name, std::string& why_not);
  // For callers that can do without and need no reason.
  static std::optional<SharedMemory> create(std::size_t size) {
    std::string unread;
    return create(size, unread);
  }
  static std::optional<SharedMemory> open(const SharedMemoryName& name) {
    std::string unread;
    return open(name, unread);
  }

  const SharedMemoryName& name() const noexcept { return file_.name(); }
  std::byte* data() const noexcept { return mapping_.data(); }
  std::size_t size() const noexcept { return file_.name().size; }
  void close() noexcept { file_.close(); }

 private:
  SharedMemory() = default;
  static std::optional<SharedMemory> mapped(std::optional<SharedFile> file, std::string& why_not);

  SharedFile file_;
  Mapping mapping_;
};

}  // namespace lfc
