// Arenas of coll lfc: who finds which board.
#include "services/collective/arena.hpp"

#include "catch.hpp"
#include "services/collective/board.hpp"
#include "services/collective/names.hpp"

namespace lfc {

TEST_CASE("a communicator for which there is no board is refused to all its ranks", "[coll]") {
  constexpr std::uint32_t kLanes = 3;
  std::string why_not;
  const auto own = OwnArena::create(why_not, 2);
  REQUIRE(own != nullptr);
  NeighbourArena first(own->name());
  NeighbourArena second(own->name());
  const auto refused = [&](NeighbourArena& arena, std::uint64_t key) {
    bool is_refused = false;
    REQUIRE(arena.find(key, kLanes, is_refused) == nullptr);
    return is_refused;
  };
  std::byte* const board = own->make(1, kLanes, kLanes);
  REQUIRE(board != nullptr);
  REQUIRE(own->make(2, kLanes, kLanes) != nullptr);
  REQUIRE_FALSE(refused(first, 3));  // it may still be made
  REQUIRE(own->make(3, kLanes, kLanes) == nullptr);
  REQUIRE(own->make(4, kLanes, kLanes) == nullptr);
  REQUIRE(own->boards() == 2);
  REQUIRE(refused(first, 4));
  REQUIRE(refused(first, 3));
  REQUIRE(refused(second, 3));
  // All have seen it: its entry serves the next one; the other is still to be seen.
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

TEST_CASE("a communicator made anew is not taken for one that somebody has not left yet",
          "[coll]") {
  constexpr std::uint32_t kLanes = 2;
  std::string why_not;
  const auto own = OwnArena::create(why_not);
  REQUIRE(own != nullptr);
  NeighbourArena neighbour(own->name());
  CommunicatorNames names;
  CommunicatorNames names_there;
  bool refused = false;
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::byte* const memory = own->make(names.next(7), kLanes, kLanes);
    REQUIRE(memory != nullptr);
    Board board(memory, kLanes, 0);
    board.publish(0, round, {});
    std::byte* const found = neighbour.find(names_there.next(7), kLanes, refused);
    REQUIRE(found != nullptr);
    REQUIRE(Board(found, kLanes, 1).ready(0, round));
    board.detach();  // the neighbour's thread is busy
  }
}

}  // namespace lfc
