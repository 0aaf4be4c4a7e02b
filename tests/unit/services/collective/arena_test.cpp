// Arenas of coll lfc: which rank finds which board.
#include "services/collective/arena.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "machine/file_descriptor.hpp"
#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/names.hpp"
#include "unit/failing_allocation.hpp"

namespace lfc {
namespace {

const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

// Mappings of arenas and other shared memory of LFC in this process.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/memfd:lfc-") != std::string::npos ? 1 : 0;
  return count;
}

// Whether an access to this page does not fault.
bool is_touched(const std::byte* page) {
  const FileDescriptor map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::uint64_t entry = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(page) / kPage * sizeof entry;
  return ::pread(map.get(), &entry, sizeof entry, static_cast<off_t>(at)) == sizeof entry &&
         entry >> 63 != 0;
}

// Whether shared memory takes one page for each page that is touched, and not a huge one for many.
bool has_single_pages() {
  std::string setting;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/shmem_enabled"), setting);
  for (const char* const huge : {"[always]", "[within_size]", "[force]"})
    if (setting.find(huge) != std::string::npos) {
      std::printf("arena: huge pages for shared memory (%s), so no pages are counted\n", huge);
      return false;
    }
  return true;
}

// While it exists, this process gets at most so many more bytes of address space.
class FewAddresses {
 public:
  explicit FewAddresses(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit few = before_;
    few.rlim_cur = pages * kPage + more;
    ::setrlimit(RLIMIT_AS, &few);
  }
  ~FewAddresses() { ::setrlimit(RLIMIT_AS, &before_); }
  FewAddresses(const FewAddresses&) = delete;
  FewAddresses& operator=(const FewAddresses&) = delete;

 private:
  rlimit before_{};
};

template <class... MostBoards>
std::unique_ptr<OwnArena> make_arena(MostBoards... most) {
  std::string why_not;
  std::unique_ptr<OwnArena> own = OwnArena::create(why_not, most...);
  REQUIRE(own != nullptr);
  return own;
}

// Bytes that the arena's file has from the kernel.
std::size_t memory_of(const OwnArena& own) {
  std::string why_not;
  const auto file = SharedFile::open(own.name().memory, why_not);
  return file ? file->used() : 0;
}

}  // namespace

TEST_CASE("boards of a block are mapped at once, and found touched", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  const auto own = make_arena();
  PeerArena local_peer(own->name());
  REQUIRE(local_peer.reachable());
  const bool single = has_single_pages();
  const std::size_t distance = round_up(Board::size(kLanes), kPage);
  const int before = mappings();
  const std::size_t memory = memory_of(*own);
  for (std::uint64_t key = 1; key <= OwnArena::kBlock + 1; ++key) {
    INFO("board " << key);
    // A board of another size between them has a block of its own.
    if (key == 3) REQUIRE(own->make(100, 64, 64) != nullptr);
    std::byte* const made = own->make(key, kLanes, kLanes);
    REQUIRE(made != nullptr);
    bool refused = false;
    std::byte* const found = local_peer.find(key, kLanes, refused);
    REQUIRE(found != nullptr);
    // The boards of this block, also those that are not made yet.
    const std::size_t count = key == 1 ? 1u : std::has_single_bit(key - 1) ? key - 1 : 0u;
    for (std::size_t i = 0; i < count; ++i) {
      INFO("board " << i << " of its block");
      REQUIRE(is_touched(made + i * distance));
      REQUIRE(is_touched(found + i * distance));
      if (single) REQUIRE_FALSE(is_touched(made + (i + 1) * distance - kPage));  // a room
    }
    Board(made, kLanes, 0).publish(0, 0, {});
    CHECK(Board(found, kLanes, 1).ready(0, 0));
    CHECK_FALSE(Board(found, kLanes, 1).ready(1, 0));
    if (key == 1 && single) CHECK(memory_of(*own) <= memory + 2 * kPage);  // one of the directory
    const int blocks = 1 + std::bit_width(key - 1);  // 1, 1, 2, 4 and 8 boards
    CHECK(mappings() == before + 2 * blocks + (key >= 3 ? 1 : 0));
  }
  if (single) CHECK(memory_of(*own) <= memory + (1 + 2 * OwnArena::kBlock + 1) * kPage);
  CHECK(own->boards() == OwnArena::kBlock + 2);  // unused ones are not counted
}

TEST_CASE("a board is mapped alone where its block cannot be mapped", "[coll]") {
  constexpr std::uint32_t kLanes = 16;  // a block has at most 2 boards
  const std::size_t room = Board::size(kLanes) * 3 / 2;
  const auto own = make_arena();
  PeerArena local_peer(own->name());
  REQUIRE(local_peer.reachable());
  std::vector<std::byte*> made;
  std::vector<std::byte*> found;
  bool refused = false;
  for (std::uint64_t key = 1; key <= 5; ++key) {
    INFO("board " << key);
    if (key == 3) {
      const FewAddresses few(room);  // boards 3 and 4 would be a block
      made.push_back(own->make(key, kLanes, kLanes));
    } else {
      made.push_back(own->make(key, kLanes, kLanes));
    }
    REQUIRE(made.back() != nullptr);
  }
  CHECK(made[4] == made[3] + round_up(Board::size(kLanes), kPage));  // a block again
  for (std::uint64_t key = 1; key <= 5; ++key) {
    INFO("board " << key);
    {
      const FewAddresses few(room);
      found.push_back(local_peer.find(key, kLanes, refused));
    }
    REQUIRE(found.back() != nullptr);
    CHECK(local_peer.why_not().empty());
    CHECK(local_peer.find(key, kLanes, refused) == found.back());
  }
  for (std::uint64_t i = 0; i < 5; ++i) Board(made[i], kLanes, 0).publish(0, i, {});
  for (std::uint64_t i = 0; i < 5; ++i)
    for (std::uint64_t step = 0; step < 5; ++step)
      CHECK(Board(found[i], kLanes, 1).ready(0, step) == (step == i));
}

TEST_CASE("a board that could not be mapped does not hide that another one is not made yet",
          "[coll]") {
  constexpr std::uint32_t kLanes = 16;
  const auto own = make_arena();
  PeerArena local_peer(own->name());
  REQUIRE(local_peer.reachable());
  REQUIRE(own->make(1, kLanes, kLanes) != nullptr);
  bool refused = false;
  const std::byte* found = nullptr;
  {
    const FewAddresses few(Board::size(kLanes) / 2);
    found = local_peer.find(1, kLanes, refused);
  }
  CHECK(found == nullptr);
  CHECK(local_peer.why_not().find("Cannot allocate memory") != std::string::npos);
  CHECK(local_peer.find(2, kLanes, refused) == nullptr);
  CHECK(local_peer.why_not().empty());
  CHECK(local_peer.find(1, kLanes, refused) != nullptr);
  CHECK_FALSE(refused);
}

TEST_CASE("a board that is used again is empty", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  const auto own = make_arena();
  std::byte* const first = own->make(1, kLanes, kLanes);
  REQUIRE(first != nullptr);
  for (std::uint64_t step = 0; step < 2; ++step)
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      Board(first, kLanes, lane).publish(lane, step, {});
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) Board(first, kLanes, lane).detach();
  std::byte* const again = own->make(2, kLanes, kLanes);
  REQUIRE(again == first);
  for (std::uint64_t step = 0; step < 2; ++step)
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      CHECK_FALSE(Board(again, kLanes, 0).ready(lane, step));
}

TEST_CASE("a communicator for which there is no board is refused to all its ranks", "[coll]") {
  constexpr std::uint32_t kLanes = 3;
  const auto own = make_arena(2);
  PeerArena first(own->name());
  PeerArena second(own->name());
  const auto refused = [&](PeerArena& arena, std::uint64_t key) {
    bool is_refused = false;
    REQUIRE(arena.find(key, kLanes, is_refused) == nullptr);
    return is_refused;
  };
  std::byte* const board = own->make(1, kLanes, kLanes);
  REQUIRE(board != nullptr);
  REQUIRE(own->make(2, kLanes, kLanes) != nullptr);
  REQUIRE_FALSE(refused(first, 3));  // it may be made later
  REQUIRE(own->make(3, kLanes, kLanes) == nullptr);
  REQUIRE(own->make(4, kLanes, kLanes) == nullptr);
  REQUIRE(own->boards() == 2);
  REQUIRE(refused(first, 4));
  REQUIRE(refused(first, 3));
  REQUIRE(refused(second, 3));
  // All ranks have seen the refusal of 3, so its entry is free for 5. Not all have seen the refusal of 4.
  REQUIRE(own->make(5, kLanes, kLanes) == nullptr);
  REQUIRE_FALSE(refused(second, 3));
  REQUIRE(refused(second, 5));
  REQUIRE(refused(second, 4));
  // A board that all have left serves the next communicator.
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) Board(board, kLanes, lane).detach();
  REQUIRE(own->make(6, kLanes, kLanes) == board);
  bool is_refused = false;
  REQUIRE(first.find(6, kLanes, is_refused) != nullptr);
  REQUIRE_FALSE(is_refused);
}

TEST_CASE("unused boards leave room for boards of communicators of another size", "[coll]") {
  constexpr std::size_t kMost = 3;
  const auto own = make_arena(kMost);
  PeerArena local_peer(own->name());
  std::uint64_t key = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::uint32_t lanes : {2u, 3u, 5u}) {
      INFO("round " << round << ", " << lanes << " ranks");
      std::vector<std::byte*> made;
      for (std::size_t i = 0; i < kMost; ++i) {
        made.push_back(own->make(++key, lanes, lanes));
        REQUIRE(made.back() != nullptr);
        bool refused = false;
        std::byte* const found = local_peer.find(key, lanes, refused);
        REQUIRE(found != nullptr);
        CHECK_FALSE(Board(found, lanes, 1).ready(lanes - 1, i));  // memory given back is zero
        Board(made.back(), lanes, 0).publish(lanes - 1, i, {});
        CHECK(Board(found, lanes, 1).ready(lanes - 1, i));
      }
      CHECK(own->make(++key, lanes, lanes) == nullptr);
      bool refused = false;
      CHECK(local_peer.find(key, lanes, refused) == nullptr);
      CHECK(refused);
      for (std::byte* const board : made)
        for (std::uint32_t lane = 0; lane < lanes; ++lane) Board(board, lanes, lane).detach();
    }
  CHECK(own->boards() == 3 * kMost);  // each size made its own once
}

TEST_CASE("a communicator that reserved a board first gets it, however late it makes it",
          "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  const auto own = make_arena(3);
  own->reserve(1, kLanes);
  own->reserve(2, kLanes);
  CHECK(own->make(3, kLanes, kLanes) != nullptr);  // the third
  CHECK(own->make(4, kLanes, kLanes) == nullptr);
  own->reserve(5, kLanes);  // there is no memory for it
  CHECK(own->make(1, kLanes, kLanes) != nullptr);
  CHECK(own->make(5, kLanes, kLanes) == nullptr);
  own->cancel(2);
  CHECK(own->make(6, kLanes, kLanes) != nullptr);
  CHECK(own->make(2, kLanes, kLanes) == nullptr);
}

TEST_CASE("communicators without numbers leave boards for those that have numbers", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  const std::uint64_t most = limits::kCollBoards;
  const auto own = make_arena();
  std::uint64_t key = 0;
  std::uint64_t reserved = 0;
  while (key < 3 * most + 10)
    reserved += own->reserve(++key, kLanes, limits::kCollBoards) ? 1u : 0u;
  CHECK(reserved == most);
  // Communicators with numbers, and their neighbourhoods.
  for (std::uint64_t i = 0; i < 2 * most; ++i)
    if (!own->reserve(++key, kLanes)) FAIL("no room for number " << i);
  CHECK_FALSE(own->reserve(++key, kLanes));
}

TEST_CASE("persistent requests leave room for communicators", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  constexpr std::size_t kMost = 4;
  constexpr std::size_t kRequests = 2;
  const auto own = make_arena(kMost);
  CHECK(own->reserve(1, kLanes, kRequests));
  CHECK(own->make(1, kLanes, kLanes) != nullptr);
  CHECK(own->reserve(2, kLanes, kRequests));
  CHECK_FALSE(own->reserve(3, kLanes, kRequests));
  CHECK(own->reserve(4, kLanes));
  CHECK(own->reserve(5, kLanes));
  CHECK_FALSE(own->reserve(6, kLanes));
  own->cancel(4);
  own->cancel(5);
  CHECK_FALSE(own->reserve(3, kLanes, kRequests));
  own->cancel(2);
  CHECK(own->reserve(3, kLanes, kRequests));
}

TEST_CASE("a communicator made anew is not taken for an older one that a rank has not left yet",
          "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  const auto own = make_arena();
  PeerArena local_peer(own->name());
  CommunicatorNames names;
  CommunicatorNames names_there;
  bool refused = false;
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::byte* const memory = own->make(names.next(7), kLanes, kLanes);
    REQUIRE(memory != nullptr);
    Board board(memory, kLanes, 0);
    board.publish(0, round, {});
    std::byte* const found = local_peer.find(names_there.next(7), kLanes, refused);
    REQUIRE(found != nullptr);
    REQUIRE(Board(found, kLanes, 1).ready(0, round));
    board.detach();  // the local peer's thread still uses it
  }
}

TEST_CASE("a block without memory for its entries leaves none", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  unsigned failures = 0;
  for (bool has_failed = true; has_failed;) {
    const auto own = make_arena();
    PeerArena local_peer(own->name());
    // With a board of another size, there is room for some entries of the next block, and not for all.
    REQUIRE(own->make(100, 1, 1) != nullptr);
    for (std::uint64_t key = 1; key <= 2; ++key) REQUIRE(own->make(key, kLanes, kLanes) != nullptr);
    const int before = mappings();
    bool has_made = false;
    {
      const FailingAllocation failing(failures);
      try {
        has_made = own->make(3, kLanes, kLanes) != nullptr;  // the first of a block of 2
      } catch (const std::bad_alloc&) {
      }
      has_failed = failing.has_failed();
    }
    REQUIRE(has_made != has_failed);
    if (has_failed) ++failures;
    REQUIRE(mappings() == before + (has_failed ? 0 : 1));
    for (std::uint64_t key = 4; key <= 9; ++key) {
      std::byte* const made = own->make(key, kLanes, kLanes);
      REQUIRE(made != nullptr);
      bool refused = false;
      std::byte* const found = local_peer.find(key, kLanes, refused);
      REQUIRE(found != nullptr);
      Board(made, kLanes, 0).publish(0, 0, {});
      REQUIRE(Board(found, kLanes, 1).ready(0, 0));
    }
  }
  if (failures == 0) WARN("skipped: no allocation has failed");
}

}  // namespace lfc
