// The way of an operation for all states of the target, the operation and the moment.
#include "services/windows/protocol/way.hpp"

#include "catch.hpp"

namespace lfc {
namespace {

template <class Visit>
void for_all(Visit visit) {
  for (unsigned bits = 0; bits < 1u << 11; ++bits) {
    const auto bit = [&](unsigned place) { return (bits >> place & 1) != 0; };
    const Reach reach{bit(0), bit(1), bit(2), bit(3), bit(4)};
    const Moment moment{bit(5), bit(6), bit(7), bit(8)};
    // Impossible: a lock outside a passive epoch, or a one-sided link that cannot write.
    if ((moment.held && !moment.passive) || (reach.one_sided && !reach.remote_memory) ||
        (reach.within_call && !reach.one_sided))
      continue;
    for (const Shape::Kind kind : {Shape::Kind::put, Shape::Kind::get, Shape::Kind::other})
      for (const std::uint64_t bytes :
           {std::uint64_t{1}, limits::kWindowNative - 1, std::uint64_t{limits::kWindowNative}})
        visit(reach, Shape{kind, bit(9), bit(10), bytes}, moment);
  }
}

}  // namespace

TEST_CASE("every operation takes the way that the table says", "[windows]") {
  for_all([](const Reach& reach, const Shape& shape, const Moment& moment) {
    const Way way = choose(reach, shape, moment);
    const Way lasting = lasting_way(reach, shape, moment);
    const bool large = shape.bytes >= limits::kWindowNative;
    const bool copies =
        shape.kind != Shape::Kind::other && shape.contiguous && reach.registered && !reach.mapped;
    CHECK((way == Way::later) == !moment.ready);
    CHECK((lasting == Way::stores) == reach.mapped);
    if (lasting == Way::link) {
      REQUIRE(copies);
      // A small one overtakes no frame, and never completes before the target has acknowledged it.
      REQUIRE((large || (moment.passive && !moment.frames_under_way)));
      REQUIRE((shape.kind == Shape::Kind::get || reach.remote_memory));
    }
    // The link gets each operation that it can do.
    if (copies && large && reach.remote_memory) REQUIRE(lasting == Way::link);
    if (copies && moment.passive && !moment.frames_under_way && reach.one_sided)
      REQUIRE(lasting == Way::link);
    if (way == Way::at_once) {
      REQUIRE((copies && reach.within_call && moment.held && !moment.frames_under_way));
      REQUIRE_FALSE(shape.request);
    }
    if (way != Way::later && way != Way::at_once) REQUIRE(way == lasting);
  });
}

// No other trait matters, such as a link's name.
TEST_CASE("a put is made within the call exactly if the link copies within the call", "[windows]") {
  const Shape word{Shape::Kind::put, true, false, 8};
  const Moment held{true, true, true, false};
  Reach reach{false, true, true, true, true};
  CHECK(choose(reach, word, held) == Way::at_once);
  reach.within_call = false;
  CHECK(choose(reach, word, held) == Way::link);
  reach.one_sided = false;
  CHECK(choose(reach, word, held) == Way::frames);
}

}  // namespace lfc
