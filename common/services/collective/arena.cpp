#include "services/collective/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <system_error>

#include "base/limits.hpp"
#include "machine/host.hpp"
#include "services/collective/board.hpp"

namespace lfc {
namespace {

constexpr char kMemoryName[] = "lfc-coll";
constexpr std::size_t kPage = 4096;

// No process has more communicators at a time: their numbers have 16 bits in ob1's headers.
constexpr std::size_t kEntries = 65536;
static_assert(kEntries > limits::kMostCollBoards);
constexpr std::uint64_t kRefused = ~std::uint64_t{0};

struct Entry {
  std::atomic<std::uint64_t> key;     // 0: none
  std::atomic<std::uint64_t> offset;  // kRefused: there is no board
  std::atomic<std::uint32_t> asking;  // then: how many have still to learn that
};

struct Directory {
  std::array<std::uint64_t, 2> cookie;
  std::atomic<std::uint32_t> count;  // entries that have ever been used
  alignas(64) Entry entries[kEntries];
};

constexpr std::size_t kDirectory = (sizeof(Directory) + kPage - 1) / kPage * kPage;

Directory& directory_of(const Mapping& mapping) noexcept {
  return *reinterpret_cast<Directory*>(mapping.data());
}

std::string with_errno(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

}  // namespace

std::unique_ptr<OwnArena> OwnArena::create(std::string& why_not, std::size_t most_boards) {
  const std::optional<std::uint64_t> space = pid_namespace(why_not);
  if (!space) return nullptr;
  std::unique_ptr<OwnArena> own(new OwnArena(most_boards));
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

std::size_t OwnArena::boards() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      boards_.begin(), boards_.end(), [](const Made& made) { return made.mapping.is_open(); }));
}

// Boards that everybody has left can be used again, and so can entries that all have seen.
void OwnArena::reclaim() noexcept {
  Directory& directory = directory_of(directory_);
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    Made& made = boards_[i];
    Entry& entry = directory.entries[i];
    if (!made.in_use) continue;
    if (made.mapping.is_open() ? !Board::is_free(made.mapping.data())
                               : entry.asking.load(std::memory_order_acquire) != 0)
      continue;
    made.in_use = false;
    entry.key.store(0, std::memory_order_relaxed);
  }
}

// A board for so many ranks, or, of 0 lanes, an entry without one; boards_.size(): there is none.
std::size_t OwnArena::find_free(std::uint32_t lanes) const noexcept {
  std::size_t index = 0;
  while (index < boards_.size() && (boards_[index].in_use || boards_[index].lanes != lanes))
    ++index;
  return index;
}

bool OwnArena::add_board(std::uint32_t lanes) {
  const std::size_t size = Board::size(lanes);
  if (boards() >= most_boards_ || boards_.size() == kEntries ||
      ftruncate(fd_.get(), static_cast<off_t>(end_ + size)) != 0)
    return false;
  Mapping mapping(fd_.get(), end_, size);
  if (!mapping.is_open()) return false;
  boards_.push_back({std::move(mapping), lanes, end_, false});
  end_ += (size + kPage - 1) / kPage * kPage;
  return true;
}

void OwnArena::publish(std::size_t index, std::uint64_t key) noexcept {
  Directory& directory = directory_of(directory_);
  Entry& entry = directory.entries[index];
  boards_[index].in_use = true;
  entry.offset.store(boards_[index].offset, std::memory_order_relaxed);
  entry.key.store(key, std::memory_order_release);  // pairs with find()
  if (directory.count.load(std::memory_order_relaxed) <= index)
    directory.count.store(static_cast<std::uint32_t>(index + 1), std::memory_order_release);
}

// Whoever looks for it need not wait.
void OwnArena::refuse(std::uint64_t key, std::uint32_t lanes) {
  const std::size_t index = find_free(0);
  if (index == kEntries) return;
  if (index == boards_.size()) boards_.push_back({Mapping(), 0, kRefused, false});
  directory_of(directory_).entries[index].asking.store(lanes - 1, std::memory_order_relaxed);
  publish(index, key);
}

std::byte* OwnArena::make(std::uint64_t key, std::uint32_t lanes) {
  reclaim();
  const std::size_t index = find_free(lanes);
  if (index == boards_.size() && !add_board(lanes)) {
    refuse(key, lanes);
    return nullptr;
  }
  Board::format(boards_[index].mapping.data(), lanes);
  publish(index, key);
  return boards_[index].mapping.data();
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

std::byte* NeighbourArena::find(std::uint64_t key, std::uint32_t lanes, bool& refused) {
  if (!open()) return nullptr;
  Directory& directory = directory_of(directory_);
  const std::uint32_t count = directory.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kEntries; ++i) {
    Entry& entry = directory.entries[i];
    if (entry.key.load(std::memory_order_acquire) != key) continue;
    const std::uint64_t offset = entry.offset.load(std::memory_order_relaxed);
    if (offset == kRefused) {
      refused = true;
      entry.asking.fetch_sub(1, std::memory_order_acq_rel);
      return nullptr;
    }
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
