// Deadlock recovery's state machine, one NI's part. Whole recoveries among many NIs: lfc_sim --multicast.
#include "protocol/recovery.hpp"

#include <utility>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

constexpr Recovery::Channel kOwn = 7;
constexpr TreeId kTree{1, 0, TreeShape::binary, 2};
constexpr TreeId kOther{1, 1, TreeShape::binary, 2};
constexpr PeerId kParent = 10;

struct Cleared final : Recovery::Out {
  void channel_clear(Recovery::Channel channel, PeerId parent) override {
    all.push_back({channel, parent});
  }
  std::vector<std::pair<Recovery::Channel, PeerId>> all;
};

}  // namespace

TEST_CASE("a recovery of ours lasts until the child has cleared the channel", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn, out);
  REQUIRE(!recovery.recovering());
  recovery.start(3);
  REQUIRE(recovery.recovering());
  REQUIRE(!recovery.clear(kOwn, 4));  // has nothing on it
  REQUIRE(!recovery.clear(8, 3));
  REQUIRE(recovery.clear(kOwn, 3));
  REQUIRE(!recovery.recovering());
  REQUIRE(recovery.idle());
  REQUIRE(out.all.empty());           // nobody is to be told
  REQUIRE(!recovery.clear(kOwn, 3));  // once
}

TEST_CASE("a channel is cleared when the buffer is free and all children have cleared it",
          "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn, out);
  REQUIRE(!recovery.release(kTree));  // a credit goes back
  REQUIRE(recovery.enter(1, kTree, kParent));
  REQUIRE(!recovery.enter(1, kTree, kParent));   // the buffer is taken
  REQUIRE(!recovery.enter(1, kOther, kParent));  // for all trees
  REQUIRE(!recovery.enter(kOwn, kTree, kParent));
  REQUIRE(recovery.way(kTree, 3) == 1);
  REQUIRE(!recovery.way(kOther, 3));
  recovery.extend(1, 3);
  recovery.extend(1, 4);
  REQUIRE(!recovery.way(kTree, 3));  // one packet for each child
  REQUIRE(recovery.release(kTree));
  REQUIRE(!recovery.release(kTree));
  REQUIRE(!recovery.way(kTree, 5));  // the way is for what occupies buffers
  REQUIRE(recovery.clear(1, 4));
  REQUIRE(out.all.empty());
  REQUIRE(!recovery.clear(1, 4));
  REQUIRE(recovery.clear(1, 3));
  REQUIRE(out.all == std::vector{std::pair{Recovery::Channel{1}, kParent}});
  REQUIRE(recovery.idle());
  REQUIRE(recovery.enter(1, kTree, kParent));  // free again
}

TEST_CASE("channels of one tree get buffers, and ways, in the order they came", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn, out);
  REQUIRE(recovery.enter(1, kTree, kParent));
  REQUIRE(recovery.enter(2, kTree, kParent));
  REQUIRE(recovery.enter(3, kOther, 11));
  REQUIRE(recovery.way(kTree, 5) == 1);
  recovery.extend(1, 5);
  REQUIRE(recovery.way(kTree, 5) == 2);
  REQUIRE(recovery.way(kTree, 6) == 1);
  REQUIRE(recovery.release(kTree));  // an earlier packet's buffer: the first channel has it
  REQUIRE(recovery.way(kTree, 6) == 2);
  REQUIRE(recovery.clear(1, 5));
  REQUIRE(recovery.release(kTree));
  REQUIRE(recovery.release(kOther));
  REQUIRE(out.all ==
          std::vector<std::pair<Recovery::Channel, PeerId>>{{1, kParent}, {2, kParent}, {3, 11}});
}

TEST_CASE("a lost peer clears all its channels, and is told of none", "[recovery]") {
  Cleared out;
  Recovery recovery(kOwn, out);
  recovery.start(3);
  REQUIRE(recovery.enter(1, kTree, kParent));
  recovery.extend(1, 3);
  recovery.extend(1, 4);
  REQUIRE(recovery.enter(2, kOther, 3));
  recovery.lose(3);
  REQUIRE(!recovery.recovering());
  REQUIRE(!recovery.clear(1, 3));
  REQUIRE(recovery.release(kTree));
  REQUIRE(recovery.clear(1, 4));
  REQUIRE(out.all == std::vector{std::pair{Recovery::Channel{1}, kParent}});
  REQUIRE(recovery.release(kOther));
  REQUIRE(out.all.size() == 1);
  REQUIRE(recovery.idle());
}

}  // namespace lfc
