// Arenas of coll lfc: which rank finds which board.
#include "services/collective/arena.hpp"

#include <vector>

#include "catch.hpp"
#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/names.hpp"

namespace lfc {

TEST_CASE("a communicator for which there is no board is refused to all its ranks", "[coll]") {
  constexpr std::uint32_t kLanes = 3;
  std::string why_not;
  const auto own = OwnArena::create(why_not, 2);
  REQUIRE(own != nullptr);
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

TEST_CASE("boards that nobody uses leave room for those of communicators of another size",
          "[coll]") {
  constexpr std::size_t kMost = 3;
  std::string why_not;
  const auto own = OwnArena::create(why_not, kMost);
  REQUIRE(own != nullptr);
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

TEST_CASE("a communicator that comes first gets its board, however late it asks", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  std::string why_not;
  const auto own = OwnArena::create(why_not, 3);
  REQUIRE(own != nullptr);
  own->reserve(1);
  own->reserve(2);
  CHECK(own->make(3, kLanes, kLanes) != nullptr);  // the third
  CHECK(own->make(4, kLanes, kLanes) == nullptr);
  own->reserve(5);  // there is no memory for it
  CHECK(own->make(1, kLanes, kLanes) != nullptr);
  CHECK(own->make(5, kLanes, kLanes) == nullptr);
  own->cancel(2);
  CHECK(own->make(6, kLanes, kLanes) != nullptr);
  CHECK(own->make(2, kLanes, kLanes) == nullptr);
}

TEST_CASE("persistent requests leave room for communicators", "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  constexpr std::size_t kMost = 4;
  constexpr std::size_t kRequests = 2;
  std::string why_not;
  const auto own = OwnArena::create(why_not, kMost);
  REQUIRE(own != nullptr);
  CHECK(own->reserve(1, kRequests));
  CHECK(own->make(1, kLanes, kLanes) != nullptr);
  CHECK(own->reserve(2, kRequests));
  CHECK_FALSE(own->reserve(3, kRequests));
  CHECK(own->reserve(4));
  CHECK(own->reserve(5));
  CHECK_FALSE(own->reserve(6));
  own->cancel(4);
  own->cancel(5);
  CHECK_FALSE(own->reserve(3, kRequests));
  own->cancel(2);
  CHECK(own->reserve(3, kRequests));
}

TEST_CASE("a communicator made anew is not taken for one that somebody has not left yet",
          "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  std::string why_not;
  const auto own = OwnArena::create(why_not);
  REQUIRE(own != nullptr);
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

}  // namespace lfc
