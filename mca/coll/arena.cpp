#include "arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string_view>
#include <system_error>

#include "board.hpp"
#include "limits.hpp"
#include "link/shm/host.hpp"

namespace lfc {
namespace {

constexpr char kMemoryName[] = "lfc-coll";
constexpr std::size_t kPage = 4096;

struct Entry {
  std::atomic<std::uint64_t> key;  // 0: none
  std::atomic<std::uint64_t> offset;
};

struct Directory {
  std::array<std::uint64_t, 2> cookie;
  std::atomic<std::uint32_t> count;  // entries that have ever been used
  alignas(64) Entry entries[limits::kMostCollBoards];
};

constexpr std::size_t kDirectory = (sizeof(Directory) + kPage - 1) / kPage * kPage;

Directory& directory_of(const Mapping& mapping) noexcept {
  return *reinterpret_cast<Directory*>(mapping.data());
}

std::string with_errno(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

}  // namespace

std::unique_ptr<OwnArena> OwnArena::create(std::string& why_not) {
  const std::optional<std::uint64_t> space = pid_namespace(why_not);
  if (!space) return nullptr;
  std::unique_ptr<OwnArena> own(new OwnArena);
  own->name_.boot = boot_hash();
  own->name_.space = *space;
  own->name_.pid = static_cast<std::uint32_t>(getpid());
  if (own->name_.boot == 0 || getrandom(own->name_.cookie.data(), sizeof own->name_.cookie, 0) !=
                                  static_cast<ssize_t>(sizeof own->name_.cookie)) {
    why_not = "no boot id, or no random numbers";
    return nullptr;
  }
  own->fd_ = FileDescriptor(memfd_create(kMemoryName, MFD_CLOEXEC));
  if (!own->fd_.is_open() || ftruncate(own->fd_.get(), kDirectory) != 0) {
    why_not = with_errno("memfd");
    return nullptr;
  }
  own->directory_ = Mapping(own->fd_.get(), 0, kDirectory);
  if (!own->directory_.is_open()) {
    why_not = with_errno("memfd cannot be mapped");
    return nullptr;
  }
  own->name_.fd = static_cast<std::uint32_t>(own->fd_.get());
  own->end_ = kDirectory;
  directory_of(own->directory_).cookie = own->name_.cookie;
  return own;
}

// Boards that everybody has left can be used again.
void OwnArena::reclaim() noexcept {
  Directory& directory = directory_of(directory_);
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    if (!boards_[i].in_use || !Board::is_free(boards_[i].mapping.data())) continue;
    boards_[i].in_use = false;
    directory.entries[i].key.store(0, std::memory_order_relaxed);
  }
}

std::byte* OwnArena::make(std::uint64_t key, std::uint32_t lanes) {
  reclaim();
  Directory& directory = directory_of(directory_);
  std::size_t index = 0;
  while (index < boards_.size() && (boards_[index].in_use || boards_[index].lanes != lanes))
    ++index;
  if (index == boards_.size()) {
    const std::size_t size = Board::size(lanes);
    if (index == limits::kCollBoards || ftruncate(fd_.get(), static_cast<off_t>(end_ + size)) != 0)
      return nullptr;
    Mapping mapping(fd_.get(), end_, size);
    if (!mapping.is_open()) return nullptr;
    boards_.push_back({std::move(mapping), lanes, end_, false});
    end_ += (size + kPage - 1) / kPage * kPage;
  }
  Made& made = boards_[index];
  made.in_use = true;
  Board::format(made.mapping.data(), lanes);
  Entry& entry = directory.entries[index];
  entry.offset.store(made.offset, std::memory_order_relaxed);
  entry.key.store(key, std::memory_order_release);  // pairs with find()
  if (directory.count.load(std::memory_order_relaxed) <= index)
    directory.count.store(static_cast<std::uint32_t>(index + 1), std::memory_order_release);
  return made.mapping.data();
}

bool NeighbourArena::open() {
  if (directory_.is_open()) return true;
  if (!why_not_.empty()) return false;
  const std::string path = "/proc/" + std::to_string(name_.pid) + "/fd/" + std::to_string(name_.fd);
  // Look before opening: another kind of file could block or have side effects.
  char target[64] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) <= 0) {
    why_not_ = with_errno(path);
    return false;
  }
  if (!std::string_view(target).starts_with(std::string("/memfd:") + kMemoryName)) {
    why_not_ = path + ": not an arena of this library";
    return false;
  }
  fd_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd_.is_open()) directory_ = Mapping(fd_.get(), 0, kDirectory);
  if (!directory_.is_open()) {
    why_not_ = with_errno(path);
    return false;
  }
  if (directory_of(directory_).cookie == name_.cookie) return true;
  why_not_ = path + ": the process is another one now";
  directory_ = Mapping();
  return false;
}

std::byte* NeighbourArena::find(std::uint64_t key, std::uint32_t lanes) {
  if (!open()) return nullptr;
  const Directory& directory = directory_of(directory_);
  const std::uint32_t count = directory.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < limits::kMostCollBoards; ++i) {
    const Entry& entry = directory.entries[i];
    if (entry.key.load(std::memory_order_acquire) != key) continue;
    const std::uint64_t offset = entry.offset.load(std::memory_order_relaxed);
    Mapping& mapping = boards_[offset];
    if (!mapping.is_open()) mapping = Mapping(fd_.get(), offset, Board::size(lanes));
    if (!mapping.is_open()) {
      why_not_ = with_errno("a board of process " + std::to_string(name_.pid));
      return nullptr;
    }
    // A board that all have left keeps its key until it is used again, perhaps for another
    // communicator: one that is in use after we have looked has the key that we see then.
    const bool in_use = !Board::is_free(mapping.data());
    return in_use && entry.key.load(std::memory_order_relaxed) == key ? mapping.data() : nullptr;
  }
  return nullptr;
}

}  // namespace lfc
