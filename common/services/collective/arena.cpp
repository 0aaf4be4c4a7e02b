#include "services/collective/arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/build_stamp.hpp"
#include "base/errors.hpp"
#include "base/make_room.hpp"
#include "services/collective/protocol/board.hpp"

namespace lfc {
namespace {

constexpr std::size_t kEntries = OwnArena::kEntries;
constexpr std::uint64_t kRefused = ~std::uint64_t{0};

struct Entry {
  std::atomic<std::uint64_t> key;         // 0: none
  std::atomic<std::uint64_t> offset;      // kRefused: there is no board
  std::atomic<std::uint32_t> unnotified;  // how many ranks have not seen a refusal yet
  std::atomic<BoardPlace> place;
};

struct Directory {
  std::atomic<std::uint32_t> count;  // entries that have ever been used
  alignas(64) Agreement agreement;
  alignas(64) Entry entries[kEntries];
};

// Address space that is left to Open MPI and the program where it is limited.
constexpr std::size_t kSpareAddresses = std::size_t{64} << 20;

std::size_t directory_size() noexcept { return round_to_pages(sizeof(Directory)); }

// From a board of a block to the next one.
std::size_t distance(std::uint32_t lanes) noexcept { return round_to_pages(Board::size(lanes)); }

std::uint32_t most_of_block(std::uint32_t lanes) noexcept {
  return std::clamp(4 * OwnArena::kBlock / lanes, 1u, OwnArena::kBlock);
}

// Reads from each board of a block, so that this process does not fault when it uses their first pages.
void touch(const Mapping& block, std::uint32_t lanes, std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < count; ++i)
    static_cast<void>(Board::is_free(block.data() + distance(lanes) * i));
}

const BuildStamp stamp("arena", {sizeof(Entry), offsetof(Entry, place),
                                 offsetof(Directory, agreement), sizeof(Agreement),
                                 offsetof(Directory, entries), kEntries, OwnArena::kBlock});

Directory& directory_of(const Mapping& mapping) noexcept {
  return *reinterpret_cast<Directory*>(mapping.data());
}

}  // namespace

std::unique_ptr<OwnArena> OwnArena::create(std::string& why_not, std::size_t most_boards) {
  const std::optional<ProcessSpace> space = own_space(why_not);
  if (!space) return nullptr;
  std::optional<SharedFile> file = SharedFile::create(directory_size(), why_not);
  if (!file) return nullptr;
  std::unique_ptr<OwnArena> own(new OwnArena(most_boards));
  own->file_ = std::move(*file);
  own->directory_ = own->file_.map(0, directory_size());
  if (!own->directory_.is_open()) {
    why_not = with_errno("arena cannot be mapped");
    return nullptr;
  }
  own->name_ = {*space, own->file_.name()};
  own->end_ = directory_size();
  return own;
}

Agreement& OwnArena::agreement() noexcept { return directory_of(directory_).agreement; }

std::size_t OwnArena::boards() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      boards_.begin(), boards_.end(), [](const Made& made) { return made.has_been_used; }));
}

// Gives the kernel the memory of one unused board. Local peers keep it mapped, so its place stays.
void OwnArena::give_memory_back() noexcept {
  const auto free = std::find_if(boards_.begin(), boards_.end(),
                                 [](const Made& made) { return !made.in_use && made.has_memory; });
  if (free == boards_.end()) return;
  free->has_memory = !file_.discard(free->offset, Board::size(free->lanes));
}

// Frees the boards from which all ranks have detached, and the refusals that all ranks have seen.
void OwnArena::reclaim() noexcept {
  Directory& directory = directory_of(directory_);
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    Made& made = boards_[i];
    Entry& entry = directory.entries[i];
    if (!made.in_use) continue;
    if (made.memory != nullptr ? !Board::is_free(made.memory)
                               : entry.unnotified.load(std::memory_order_acquire) != 0)
      continue;
    made.in_use = false;
    if (made.memory != nullptr) --in_use_;
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

// As many as there are of this size, so few communicators prepare few boards. The caller uses one at once.
std::uint32_t OwnArena::boards_of_block(std::uint32_t lanes) const noexcept {
  if (AddressRoom::is_limited()) return 1;
  const auto made = std::count_if(boards_.begin(), boards_.end(),
                                  [=](const Made& each) { return each.lanes == lanes; });
  return std::clamp(static_cast<std::uint32_t>(made), 1u, most_of_block(lanes));
}

// Makes room before it maps the block: an entry must not outlive the mapping that it points into.
bool OwnArena::add_block(std::uint32_t lanes, std::uint32_t count) {
  const std::size_t size = distance(lanes) * count;
  make_room(boards_, count);
  make_room(blocks_, 1);
  if (boards_.size() + count > kEntries || !file_.grow(end_ + size)) return false;
  Mapping block = file_.map(end_, size);
  if (!block.is_open()) return false;
  touch(block, lanes, count);
  for (std::uint32_t i = 0; i < count; ++i)
    boards_.push_back({block.data() + distance(lanes) * i,
                       lanes,
                       end_ + distance(lanes) * i,
                       {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(count)}});
  blocks_.push_back(std::move(block));
  end_ += size;
  return true;
}

void OwnArena::publish(std::size_t index, std::uint64_t key) noexcept {
  Directory& directory = directory_of(directory_);
  Entry& entry = directory.entries[index];
  boards_[index].in_use = true;
  if (boards_[index].memory != nullptr) ++in_use_;
  entry.offset.store(boards_[index].offset, std::memory_order_relaxed);
  entry.place.store(boards_[index].place, std::memory_order_relaxed);
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
  if (index == boards_.size()) boards_.push_back({nullptr, 0, kRefused, {}});
  directory_of(directory_).entries[index].unnotified.store(users - 1, std::memory_order_relaxed);
  publish(index, key);
}

bool OwnArena::reserve(std::uint64_t key, std::uint32_t lanes, std::size_t most) {
  most = std::min(most, most_boards_);
  if (!has_room(most)) reclaim();
  if (!has_room(most)) return false;
  AddressRoom room = AddressRoom::keep(distance(lanes), kSpareAddresses);
  if (room.is_refused()) return false;
  reserved_.emplace(key, std::move(room));
  return true;
}

std::byte* OwnArena::make(std::uint64_t key, std::uint32_t lanes, std::uint32_t users) {
  reclaim();
  const bool may_be_made = reserved_.erase(key) != 0 || has_room(most_boards_);
  const std::size_t index = find_free(lanes);
  if (!may_be_made || (index == boards_.size() && !add_block(lanes, boards_of_block(lanes)) &&
                       !add_block(lanes, 1))) {
    refuse(key, users);
    return nullptr;
  }
  Made& made = boards_[index];
  made.has_been_used = true;
  if (!made.has_memory && boards() > std::min(most_boards_, limits::kCollBoards))
    give_memory_back();
  Board::format(made.memory, lanes, users, !made.has_memory);
  made.has_memory = true;
  publish(index, key);
  return made.memory;
}

bool PeerArena::open() {
  if (directory_.is_open()) return true;
  if (!why_not_.empty()) return false;
  std::optional<SharedFile> file = SharedFile::open(name_.memory, why_not_);
  if (!file) return false;
  directory_ = file->map(0, directory_size());
  if (!directory_.is_open()) {
    why_not_ = with_errno("an arena cannot be mapped");
    return false;
  }
  file_ = std::move(*file);
  return true;
}

Agreement* PeerArena::agreement() { return open() ? &directory_of(directory_).agreement : nullptr; }

// Returns the board at this offset of the file. Maps its block if that is not mapped yet. Maps the board alone if the
// block cannot be mapped, or if address space is limited. Null: errno has the reason.
std::byte* PeerArena::board_at(std::uint64_t offset, BoardPlace place, std::uint32_t lanes) {
  const std::uint64_t before = distance(lanes) * place.number;
  if (place.number >= place.count || before > offset) {
    errno = EINVAL;
    return nullptr;
  }
  Mapping& block = blocks_[offset - before];
  if (block.is_open()) return block.data() + before;
  Mapping& alone = alone_[offset];
  if (alone.is_open()) return alone.data();
  if (!AddressRoom::is_limited()) block = file_.map(offset - before, distance(lanes) * place.count);
  if (block.is_open()) {
    touch(block, lanes, place.count);
    return block.data() + before;
  }
  alone = file_.map(offset, distance(lanes));
  return alone.data();
}

bool PeerArena::reserve(std::uint64_t key, std::uint32_t lanes) {
  if (!open()) return false;
  AddressRoom room = AddressRoom::keep(distance(lanes), kSpareAddresses);
  if (room.is_held()) reserved_.emplace(key, std::move(room));
  return !room.is_refused();
}

std::byte* PeerArena::find(std::uint64_t key, std::uint32_t lanes, bool& refused) {
  if (!open()) return nullptr;
  why_not_.clear();  // another board that could not be mapped
  Directory& directory = directory_of(directory_);
  const std::uint32_t count = directory.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kEntries; ++i) {
    Entry& entry = directory.entries[i];
    if (entry.key.load(std::memory_order_acquire) != key) continue;
    const std::uint64_t offset = entry.offset.load(std::memory_order_relaxed);
    if (offset == kRefused) {
      refused = true;
      entry.unnotified.fetch_sub(1, std::memory_order_acq_rel);
      return nullptr;
    }
    reserved_.erase(key);
    std::byte* const board = board_at(offset, entry.place.load(std::memory_order_relaxed), lanes);
    if (board == nullptr) {
      why_not_ = with_errno("a board of process " + std::to_string(name_.memory.pid));
      return nullptr;
    }
    // A board from which all ranks have detached keeps its key until it is used again, perhaps for another
    // communicator. So the key is read again after the board was seen in use.
    const bool in_use = !Board::is_free(board);
    return in_use && entry.key.load(std::memory_order_relaxed) == key ? board : nullptr;
  }
  return nullptr;
}

}  // namespace lfc
