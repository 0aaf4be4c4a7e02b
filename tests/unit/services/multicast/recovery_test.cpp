// The state machine of deadlock recovery at one NI. lfc_sim --multicast covers recoveries among many NIs.
#include "services/multicast/protocol/recovery.hpp"

#include <utility>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

constexpr Recovery::EscapePath kOwn{7, 0};
constexpr Recovery::EscapePath kOne{1, 0};
constexpr Recovery::EscapePath kTwo{2, 0};
constexpr Recovery::EscapePath kThree{3, 0};
constexpr TreeId kTree{1, 0, TreeShape::binary, 2};
constexpr TreeId kOther{1, 1, TreeShape::binary, 2};
constexpr PeerId kParent = 10;

struct Cleared final : Recovery::Out {
  void escape_clear(Recovery::EscapePath escape, PeerId parent) override {
    all.push_back({escape, parent});
  }
  std::vector<std::pair<Recovery::EscapePath, PeerId>> all;
};

}  // namespace

TEST_CASE("a recovery of this NI lasts until the child has cleared the path", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn.owner, out);
  REQUIRE(!recovery.recovering());
  recovery.start(3);
  REQUIRE(recovery.recovering());
  REQUIRE(!recovery.clear(kOwn, 4));  // child 4 has no packet on it
  REQUIRE(!recovery.clear({8, 0}, 3));
  REQUIRE(recovery.clear(kOwn, 3));
  REQUIRE(!recovery.recovering());
  REQUIRE(recovery.idle());
  REQUIRE(out.all.empty());           // the owner has no parent to notify
  REQUIRE(!recovery.clear(kOwn, 3));  // only once
}

TEST_CASE("a path is cleared when its buffer is free and all children have cleared it",
          "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn.owner, out);
  REQUIRE(!recovery.release(kTree));  // a credit returns
  REQUIRE(recovery.enter(kOne, kTree, kParent));
  REQUIRE(!recovery.enter(kOne, kTree, kParent));   // the path is held
  REQUIRE(!recovery.enter(kOne, kOther, kParent));  // for all trees
  REQUIRE(!recovery.enter(kOwn, kTree, kParent));
  REQUIRE(recovery.way(kTree, 3) == kOne);
  REQUIRE(!recovery.way(kOther, 3));
  recovery.extend(kOne, 3);
  recovery.extend(kOne, 4);
  REQUIRE(!recovery.way(kTree, 3));  // one packet for each child
  REQUIRE(recovery.release(kTree));
  REQUIRE(!recovery.release(kTree));
  REQUIRE(!recovery.way(kTree, 5));  // the path is only for packets that occupy buffers
  REQUIRE(recovery.clear(kOne, 4));
  REQUIRE(out.all.empty());
  REQUIRE(!recovery.clear(kOne, 4));
  REQUIRE(recovery.clear(kOne, 3));
  REQUIRE(out.all == std::vector{std::pair{kOne, kParent}});
  REQUIRE(recovery.idle());
  REQUIRE(recovery.enter(kOne, kTree, kParent));  // free again
}

TEST_CASE("paths of one tree get buffers, and are used, in the order they came", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn.owner, out);
  REQUIRE(recovery.enter(kOne, kTree, kParent));
  REQUIRE(recovery.enter(kTwo, kTree, kParent));
  REQUIRE(recovery.enter(kThree, kOther, 11));
  REQUIRE(recovery.way(kTree, 5) == kOne);
  recovery.extend(kOne, 5);
  REQUIRE(recovery.way(kTree, 5) == kTwo);
  REQUIRE(recovery.way(kTree, 6) == kOne);
  REQUIRE(recovery.release(kTree));  // an earlier packet's buffer, which the first path gets
  REQUIRE(recovery.way(kTree, 6) == kTwo);
  REQUIRE(recovery.clear(kOne, 5));
  REQUIRE(recovery.release(kTree));
  REQUIRE(recovery.release(kOther));
  REQUIRE(out.all == std::vector<std::pair<Recovery::EscapePath, PeerId>>{
                         {kOne, kParent}, {kTwo, kParent}, {kThree, 11}});
}

TEST_CASE("a lost peer clears all its paths, and is notified of none", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn.owner, out);
  recovery.start(3);
  REQUIRE(recovery.enter(kOne, kTree, kParent));
  recovery.extend(kOne, 3);
  recovery.extend(kOne, 4);
  REQUIRE(recovery.enter(kTwo, kOther, 3));
  recovery.lose(3);
  REQUIRE(!recovery.recovering());
  REQUIRE(!recovery.clear(kOne, 3));
  REQUIRE(recovery.release(kTree));
  REQUIRE(recovery.clear(kOne, 4));
  REQUIRE(out.all == std::vector{std::pair{kOne, kParent}});
  REQUIRE(recovery.release(kOther));
  REQUIRE(out.all.size() == 1);
  REQUIRE(recovery.idle());
}

TEST_CASE("the next recovery has a path of its own", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn.owner, out);
  REQUIRE(recovery.own() == kOwn);
  recovery.start(3);
  REQUIRE(recovery.own() == kOwn);
  recovery.lose(3);
  REQUIRE(!recovery.recovering());
  REQUIRE(recovery.own() == Recovery::EscapePath{kOwn.owner, 1});
  REQUIRE(!recovery.enter(kOwn, kTree, kParent));
  REQUIRE(!recovery.clear(kOwn, 3));
  // Each owner may leave only a limited number of paths here.
  for (std::uint64_t number = 0; number < Recovery::kEscapesOfOne; ++number)
    REQUIRE(recovery.enter({1, number}, kTree, kParent));
  REQUIRE(!recovery.enter({1, Recovery::kEscapesOfOne}, kTree, kParent));
  REQUIRE(recovery.enter(kTwo, kTree, kParent));
  recovery.lose(kParent);
  REQUIRE(recovery.release(kTree));
  REQUIRE(recovery.enter({1, Recovery::kEscapesOfOne}, kTree, kParent));
}

}  // namespace lfc
