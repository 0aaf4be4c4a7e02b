// Arena: the shared memory in which a process provides boards for its local peers.
//
// Each process makes one (machine/shared_memory.hpp). The first member of a communicator on each node makes the board
// there, under a key that all members have; the others look it up. A board from which all ranks have detached is used
// again for the next communicator with as many ranks. The limit counts boards in use, of any size. When there are more
// than `kCollBoards`, the kernel gets back the memory of unused boards. If there is no memory for another board, the
// first member publishes a refusal, which the others find.
//
// Boards of one size are made in blocks: one board at first, then as many as there are, up to kBlock. For more than 4
// ranks a block has fewer boards, from 17 ranks on one. A process maps a block in one call when it needs its first
// board, and touches the first page of each. So a communicator mostly finds a mapped board with a touched first
// page. A process that cannot map the block maps the board alone. Each board that is not used yet takes one page. *Held
// by* arena_test.cpp.
//
// Where the address space is limited (ulimit -v), a rank that joins a communicator keeps room for its board. 64 MiB
// must be left besides, for Open MPI and the program. Such a rank maps each board alone. *Held by* arena_test.cpp and
// tests/mpi/coll_addresses.c.
//
// A persistent request, or a communicator without a number, gets a board only while fewer than a third of the limit
// (`kCollBoards`) are in use. The rest is for communicators with numbers, of which no process has more than
// `kCollBoards`, and for their neighbourhoods. *Held by* arena_test.cpp, room_test.cpp and tests/mpi/coll_limit.c.
//
//   std::unique_ptr<OwnArena> own = OwnArena::create(why_not);
//   std::byte* board = own->make(key, lanes, users);     // the first
//   PeerArena first(own->name());
//   std::byte* same = first.find(key, lanes, refused);   // the others; null: not made yet
//
// Threads: the caller serialises each object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "machine/address_room.hpp"
#include "machine/local_peer.hpp"
#include "machine/mapping.hpp"
#include "machine/shared_memory.hpp"
#include "services/collective/agreement.hpp"

namespace lfc {

// The place of a process's arena, published in the start-up exchange.
struct ArenaName {
  ProcessSpace space;  // all 0: this process can share no memory
  SharedMemoryName memory;
};
static_assert(sizeof(ArenaName) == 96);

// The place of a board in its block.
struct BoardPlace {
  std::uint16_t number = 0;
  std::uint16_t count = 1;  // boards in the block
};

class OwnArena {
 public:
  // No process has more communicators at a time: their numbers have 16 bits in ob1's headers. Unused boards of other
  // sizes have entries as well.
  static constexpr std::size_t kEntries = 65536;
  static_assert(kEntries > 3 * limits::kMostCollBoards);
  // Most boards of a block for up to 4 ranks. For more ranks it has fewer, from 17 ranks on one.
  static constexpr std::uint32_t kBlock = 8;

  // Makes the arena of this process. Null: it can share no memory, for the reason in `why_not`.
  static std::unique_ptr<OwnArena> create(std::string& why_not,
                                          std::size_t most_boards = 3 * limits::kCollBoards);
  const ArenaName& name() const noexcept { return name_; }
  // Keeps room for the board of this key. False: `most` boards, or all, are in use or have been reserved, or too little
  // address space is left.
  bool reserve(std::uint64_t key, std::uint32_t lanes, std::size_t most = kEntries);
  void cancel(std::uint64_t key) noexcept { reserved_.erase(key); }
  // Returns a fresh board to which `users` ranks will attach, this process among them. Null: no memory, or more than
  // `most_boards` communicators at a time; the others find the refusal.
  std::byte* make(std::uint64_t key, std::uint32_t lanes, std::uint32_t users);
  // Boards that are or have been in use.
  std::size_t boards() const noexcept;
  // The agreement of the job's ranks on this node, if this process is the first of them.
  Agreement& agreement() noexcept;

 private:
  struct Made {
    std::byte* memory;  // null: an entry of a refused board
    std::uint32_t lanes;
    std::uint64_t offset;
    BoardPlace place;
    bool in_use = false;
    bool has_been_used = false;
    bool has_memory = false;  // it has been used since the kernel gave it memory
  };
  explicit OwnArena(std::size_t most_boards) noexcept : most_boards_(most_boards) {}
  void reclaim() noexcept;
  std::size_t find_free(std::uint32_t lanes) const noexcept;
  std::uint32_t boards_of_block(std::uint32_t lanes) const noexcept;
  bool add_block(std::uint32_t lanes, std::uint32_t count);
  bool has_room(std::size_t most) const noexcept { return in_use_ + reserved_.size() < most; }
  void give_memory_back() noexcept;
  void publish(std::size_t index, std::uint64_t key) noexcept;
  void refuse(std::uint64_t key, std::uint32_t users);

  ArenaName name_;
  SharedFile file_;
  Mapping directory_;
  const std::size_t most_boards_;
  std::vector<Mapping> blocks_;
  std::vector<Made> boards_;  // board i has entry i of the directory
  std::size_t in_use_ = 0;
  std::unordered_map<std::uint64_t, AddressRoom> reserved_;  // of boards to be made, by key
  std::uint64_t end_ = 0;
};

class PeerArena {
 public:
  explicit PeerArena(const ArenaName& name) noexcept : name_(name) {}
  // Returns the board of this key. Null: it is not there yet; with `refused`, which is set once, it never will be. If
  // why_not() is not empty, the arena is out of reach, or this board cannot be mapped.
  std::byte* find(std::uint64_t key, std::uint32_t lanes, bool& refused);
  // Keeps address space for this board, where that is limited. False: too little is left.
  bool reserve(std::uint64_t key, std::uint32_t lanes);
  void cancel(std::uint64_t key) noexcept { reserved_.erase(key); }
  const std::string& why_not() const noexcept { return why_not_; }
  bool reachable() { return open(); }
  // Null: the arena is out of reach.
  Agreement* agreement();

 private:
  bool open();
  std::byte* board_at(std::uint64_t offset, BoardPlace place, std::uint32_t lanes);

  ArenaName name_;
  SharedFile file_;
  Mapping directory_;
  std::map<std::uint64_t, Mapping> blocks_;  // by offset; kept, since boards are used again
  std::map<std::uint64_t, Mapping> alone_;   // boards whose block could not be mapped, by offset
  std::unordered_map<std::uint64_t, AddressRoom> reserved_;  // of boards to be found, by key
  std::string why_not_;
};

}  // namespace lfc
