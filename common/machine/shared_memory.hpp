// Memory of one process that its local peers map, without a name in any file system: nothing stays behind,
// whoever dies.
//
//   std::optional<SharedMemory> own = SharedMemory::create(bytes, why_not);
//   publish(own->name());                                                    // plain bytes
//   own->close();                                                            // once all who should have mapped it
//   std::optional<SharedMemory> theirs = SharedMemory::open(name, why_not);  // in another process
//
// SharedFile is the same, of which each side maps the parts that it needs.
//
// It is opened as /proc/PID/fd/FD; where that is not permitted its maker hands it over, if he knows that somebody will
// ask (machine/hand_over.hpp).
//
// What is opened is what its maker made, or nothing: it is looked at before it is opened (a FIFO or a device would
// block or do something); it has the name with the maker's random cookie, the device and inode that the maker
// published, and the maker's user, who is ours; and it is sealed against shrinking, so that no access inside its size
// ever faults. Held by tests/unit/machine/shared_memory_test.cpp, one case for each of these.
//
// Sizes in bytes; the memory is zeroed and page-aligned. nullopt: `why_not` says why. Threads: values; the caller
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
  // From another pid namespace only where `process` is given, which becomes a pidfd of its maker: the pid in the name
  // means nothing here.
  static std::optional<SharedFile> open(const SharedMemoryName& name, std::string& why_not,
                                        FileDescriptor* process = nullptr);

  const SharedMemoryName& name() const noexcept { return name_; }
  // Not open when the kernel refuses, or it does not lie within the file.
  Mapping map(std::size_t offset, std::size_t size) const noexcept;
  // The owner's; what is mapped stays.
  bool grow(std::size_t size) noexcept;
  // Gives the pages in this range back to the kernel: zeros again. False: it does not do that.
  bool discard(std::size_t offset, std::size_t size) noexcept;
  // Bytes that are really there.
  std::size_t used() const noexcept;
  // Nobody can open it any more; mappings stay.
  void close() noexcept { fd_ = nullptr; }

 private:
  SharedMemoryName name_;
  std::shared_ptr<const FileDescriptor> fd_;  // may be asked for as long as it lives
};

// Whether it is certain that the process which made this has ended: that it cannot be opened says nothing of that. For
// processes that count alike (machine/local_peer.hpp).
bool is_gone(const SharedMemoryName& name);

class SharedMemory {
 public:
  static std::optional<SharedMemory> create(std::size_t size, std::string& why_not);
  static std::optional<SharedMemory> open(const SharedMemoryName& name, std::string& why_not);
  // For those who do without, whatever the reason.
  static std::optional<SharedMemory> create(std::size_t size) { return create(size, nobody()); }
  static std::optional<SharedMemory> open(const SharedMemoryName& name) {
    return open(name, nobody());
  }

  const SharedMemoryName& name() const noexcept { return file_.name(); }
  std::byte* data() const noexcept { return mapping_.data(); }
  std::size_t size() const noexcept { return file_.name().size; }
  void close() noexcept { file_.close(); }

 private:
  SharedMemory() = default;
  static std::optional<SharedMemory> mapped(std::optional<SharedFile> file, std::string& why_not);
  static std::string& nobody() {
    static thread_local std::string unread;
    return unread;
  }

  SharedFile file_;
  Mapping mapping_;
};

}  // namespace lfc
