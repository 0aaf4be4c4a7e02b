#include "services/collective/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/build_stamp.hpp"
#include "base/bytes.hpp"
#include "base/errors.hpp"
#include "services/collective/protocol/board.hpp"

namespace lfc {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t kEntries = OwnArena::kEntries;
constexpr std::uint64_t kRefused = ~std::uint64_t{0};

struct Entry {
  std::atomic<std::uint64_t> key;     // 0: none
  std::atomic<std::uint64_t> offset;  // kRefused: there is no board
  std::atomic<std::uint32_t> asking;  // how many ranks have not seen a refusal yet
};

struct Directory {
  std::atomic<std::uint32_t> count;  // entries that have ever been used
  alignas(64) Entry entries[kEntries];
};

constexpr std::size_t kDirectory = round_up(sizeof(Directory), kPage);

const BuildStamp stamp("arena", {sizeof(Entry), offsetof(Directory, entries), kEntries});

Directory& directory_of(const Mapping& mapping) noexcept {
  return *reinterpret_cast<Directory*>(mapping.data());
}

}  // namespace

std::unique_ptr<OwnArena> OwnArena::create(std::string& why_not, std::size_t most_boards) {
  const std::optional<ProcessSpace> space = own_space(why_not);
  if (!space) return nullptr;
  std::optional<SharedFile> file = SharedFile::create(kDirectory, why_not);
  if (!file) return nullptr;
  std::unique_ptr<OwnArena> own(new OwnArena(most_boards));
  own->file_ = std::move(*file);
  own->directory_ = own->file_.map(0, kDirectory);
  if (!own->directory_.is_open()) {
    why_not = with_errno("arena cannot be mapped");
    return nullptr;
  }
  own->name_ = {*space, own->file_.name()};
  own->end_ = kDirectory;
  return own;
}

std::size_t OwnArena::boards() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      boards_.begin(), boards_.end(), [](const Made& made) { return made.mapping.is_open(); }));
}

// Gives the kernel the memory of one unused board. Local peers keep it mapped, so its place stays.
void OwnArena::give_memory_back() noexcept {
  const auto free = std::find_if(boards_.begin(), boards_.end(), [](const Made& made) {
    return made.mapping.is_open() && !made.in_use && made.has_memory;
  });
  if (free == boards_.end()) return;
  static_cast<void>(file_.discard(free->offset, Board::size(free->lanes)));
  free->has_memory = false;
}

// Frees the boards from which all ranks have detached, and the refusals that all ranks have seen.
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
    if (made.mapping.is_open()) --in_use_;
    entry.key.store(0, std::memory_order_relaxed);
  }
}

// Returns a free board for so many ranks, or, with 0 lanes, an entry without a board; boards_.size(): there is none.
std::size_t OwnArena::find_free(std::uint32_t lanes) const noexcept {
  std::size_t index = 0;
  while (index < boards_.size() && (boards_[index].in_use || boards_[index].lanes != lanes))
    ++index;
  return index;
}

bool OwnArena::add_board(std::uint32_t lanes) {
  const std::size_t size = Board::size(lanes);
  if (boards_.size() == kEntries || !file_.grow(end_ + size)) return false;
  Mapping mapping = file_.map(end_, size);
  if (!mapping.is_open()) return false;
  boards_.push_back({std::move(mapping), lanes, end_, false, false});
  end_ += round_up(size, kPage);
  return true;
}

void OwnArena::publish(std::size_t index, std::uint64_t key) noexcept {
  Directory& directory = directory_of(directory_);
  Entry& entry = directory.entries[index];
  boards_[index].in_use = true;
  if (boards_[index].mapping.is_open()) ++in_use_;
  entry.offset.store(boards_[index].offset, std::memory_order_relaxed);
  entry.key.store(
      key,
      std::
          memory_order_release);  // pairs with find(): the entry and the formatted board are visible there
  if (directory.count.load(std::memory_order_relaxed) <= index)
    directory.count.store(static_cast<std::uint32_t>(index + 1), std::memory_order_release);
}

// Publishes that there is no board for this key, so that the other ranks do not wait for it.
void OwnArena::refuse(std::uint64_t key, std::uint32_t users) {
  const std::size_t index = find_free(0);
  if (index == kEntries) return;
  if (index == boards_.size()) boards_.push_back({Mapping(), 0, kRefused, false, false});
  directory_of(directory_).entries[index].asking.store(users - 1, std::memory_order_relaxed);
  publish(index, key);
}

bool OwnArena::reserve(std::uint64_t key, std::size_t most) {
  most = std::min(most, most_boards_);
  if (!has_room(most)) reclaim();
  if (!has_room(most)) return false;
  reserved_.insert(key);
  return true;
}

std::byte* OwnArena::make(std::uint64_t key, std::uint32_t lanes, std::uint32_t users) {
  reclaim();
  const bool may_be_made = reserved_.erase(key) != 0 || has_room(most_boards_);
  const std::size_t index = find_free(lanes);
  if (!may_be_made || (index == boards_.size() && !add_board(lanes))) {
    refuse(key, users);
    return nullptr;
  }
  if (!boards_[index].has_memory && boards() > std::min(most_boards_, limits::kCollBoards))
    give_memory_back();
  boards_[index].has_memory = true;
  Board::format(boards_[index].mapping.data(), lanes, users);
  publish(index, key);
  return boards_[index].mapping.data();
}

bool PeerArena::open() {
  if (directory_.is_open()) return true;
  if (!why_not_.empty()) return false;
  std::optional<SharedFile> file = SharedFile::open(name_.memory, why_not_);
  if (!file) return false;
  directory_ = file->map(0, kDirectory);
  if (!directory_.is_open()) {
    why_not_ = with_errno("an arena cannot be mapped");
    return false;
  }
  file_ = std::move(*file);
  return true;
}

std::byte* PeerArena::find(std::uint64_t key, std::uint32_t lanes, bool& refused) {
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
    if (!mapping.is_open()) mapping = file_.map(offset, Board::size(lanes));
    if (!mapping.is_open()) {
      why_not_ = with_errno("a board of process " + std::to_string(name_.memory.pid));
      return nullptr;
    }
    // A board from which all ranks have detached keeps its key until it is used again, perhaps for another
    // communicator. So the key is read again after the board was seen in use.
    const bool in_use = !Board::is_free(mapping.data());
    return in_use && entry.key.load(std::memory_order_relaxed) == key ? mapping.data() : nullptr;
  }
  return nullptr;
}

}  // namespace lfc
