// The places of a segment that local peers have claimed, from the first poll that finds them until they are free.
#include "link/shm/incoming_places.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "link/shm/outgoing.hpp"

using namespace lfc;

namespace {

OwnSegment segment_with(std::uint32_t places) {
  std::string why;
  std::optional<OwnSegment> made = OwnSegment::create(RingShape{}, places, false, why);
  INFO(why);
  REQUIRE(made);
  return std::move(*made);
}

// Our segment, and a local peer that receives in its own segment.
struct Pair {
  Pair() {
    AddressWriter writer({{1, 2}, {}, 4});
    writer.add("shm", std::as_bytes(std::span(&local_peer.name(), 1)));
    address = std::move(writer).finish();
  }
  std::optional<RemotePlace> claim(std::span<const std::byte> as) {
    std::string why;
    return RemotePlace::claim(places.segment().name(), 0, as, why);
  }
  std::vector<std::pair<std::uint32_t, Claim>> news() {
    std::vector<std::pair<std::uint32_t, Claim>> all;
    places.for_each_new_claim(
        [&](std::uint32_t place, Claim claim) { all.emplace_back(place, claim); });
    return all;
  }
  Incoming* take(bool wanted) {
    const auto [place, claim] = news().at(0);
    auto in = places.incoming_at(place, claim, places.claimant(place, claim));
    Incoming* const taken = in.get();
    if (wanted) in->peer = 5;
    places.add(std::move(in), wanted);
    return taken;
  }
  bool is_free(std::uint32_t place) {
    return places.segment().claim(place).state == PlaceState::free;
  }

  OwnSegment local_peer = segment_with(1);
  IncomingPlaces places{segment_with(4)};
  std::vector<std::byte> address;
};

}  // namespace

TEST_CASE("a place that was claimed is seen once, with its claimant's address", "[shm]") {
  Pair pair;
  CHECK_FALSE(pair.places.changed());
  const auto claimed = pair.claim(pair.address);
  REQUIRE(claimed);
  CHECK(pair.places.changed());
  pair.places.take_note();
  CHECK_FALSE(pair.places.changed());
  REQUIRE(pair.news().size() == 1);
  const auto [place, claim] = pair.news()[0];
  const auto from = pair.places.claimant(place, claim);
  REQUIRE(from);
  CHECK(from->identity().name == ProcessName{1, 2});
  Incoming* const in = pair.take(true);
  CHECK(pair.news().empty());
  CHECK(pair.places.find(5) == in);
  CHECK(pair.places.find(6) == nullptr);
}

TEST_CASE("a claimant that cannot be true has no address", "[shm]") {
  Pair pair;
  const std::vector<std::byte> noise(200, std::byte{0x5a});
  const auto claimed = pair.claim(noise);
  REQUIRE(claimed);
  const auto [place, claim] = pair.news().at(0);
  CHECK_FALSE(pair.places.claimant(place, claim));
}

TEST_CASE("a place is free when its sender has let go and all of it has been delivered", "[shm]") {
  Pair pair;
  auto claimed = pair.claim(pair.address);
  REQUIRE(claimed);
  Incoming* const in = pair.take(true);
  const std::uint32_t place = in->place;
  claimed.reset();
  pair.places.note_goodbyes();
  CHECK(in->ending);
  CHECK(pair.places.sort_out().empty());
  CHECK_FALSE(pair.is_free(place));  // its ring may still have frames
  in->emptied = true;
  CHECK(pair.places.sort_out().empty());  // no loss is reported
  CHECK(pair.is_free(place));
  CHECK(pair.places.active().empty());
}

TEST_CASE("an abandoned place stays until its sender releases it, and the sender is notified",
          "[shm]") {
  Pair pair;
  auto claimed = pair.claim(pair.address);
  REQUIRE(claimed);
  const std::uint32_t place = pair.take(false)->place;
  CHECK(claimed->abandoned());
  CHECK(pair.places.active().empty());
  CHECK(pair.places.sort_out().empty());
  CHECK_FALSE(pair.is_free(place));
  claimed.reset();
  pair.places.note_goodbyes();
  pair.places.sort_out();
  CHECK(pair.is_free(place));
}

TEST_CASE("a sender that exited, or broke its ring, is lost", "[shm]") {
  for (const bool exited : {true, false}) {
    Pair pair;
    const auto claimed = pair.claim(pair.address);
    REQUIRE(claimed);
    Incoming* const in = pair.take(true);
    (exited ? in->exited : in->corrupt) = true;
    in->ending = in->emptied = exited;
    const auto lost = pair.places.sort_out();
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].first == 5);
    CHECK(pair.places.find(5) == nullptr);
    CHECK(pair.places.sort_out().empty());
  }
}

TEST_CASE("one notice is printed when the kernel does not copy", "[shm]") {
  static int told = 0;
  SegmentName own;
  SegmentName elsewhere = own;
  elsewhere.space.pid_namespace = own.space.pid_namespace + 1;
  SingleCopy copy(true, [](std::string_view) { ++told; });
  CHECK_FALSE(copy.permitted(own, elsewhere));
  CHECK_FALSE(copy.permitted(own, elsewhere));
  CHECK(told == 1);
  SingleCopy unwanted(false, [](std::string_view) { ++told; });
  CHECK_FALSE(unwanted.permitted(own, elsewhere));
  CHECK(told == 1);
}
