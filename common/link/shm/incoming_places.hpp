// IncomingPlaces: the places of this process's segment that local peers have claimed: places that are read, places that
// are no longer read until their senders release them, and new claims.
//
//   IncomingPlaces places(std::move(segment));
//   if (places.changed()) [[unlikely]] { places.take_note(); serve_claims(); }
//   places.for_each_new_claim([&](std::uint32_t place, Claim claim) {
//     places.add(places.incoming_at(place, claim, places.claimant(place, claim)), wanted); });
//   for (const auto& [peer, why] : places.sort_out()) lose(peer, why);     // frees those that are emptied
//
// Invariants: a place is in one of the two lists from when it is first seen until it is freed; it is freed when its
// sender has released it and, if it is read, all of it has been delivered (tests/unit/link/shm/places_test.cpp).
// Threads: as Link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "link/ring.hpp"
#include "link/shm/segment.hpp"
#include "machine/process_watch.hpp"

namespace lfc {

// The segment in which the process with this address receives.
std::optional<SegmentName> segment_of(const Address& address);
// Whether the pids of one mean the same to the other.
inline bool counts_alike(const SegmentName& own, const SegmentName& peer) noexcept {
  return peer.space.pid_namespace == own.space.pid_namespace;
}

// The reason of a loss for the user: the process has ended.
inline constexpr const char* kExited =
    "its process ended without a goodbye (did it crash, was it killed, or did it end without "
    "MPI_Finalize?)";

// A claimed place in this process's segment.
struct Incoming {
  Incoming(std::uint32_t place_, std::byte* ring, const RingShape& shape, ProcessWatch&& watch_)
      : reader(ring, shape), place(place_), watch(std::move(watch_)) {}

  RingReader reader;
  PeerId peer = kNoPeer;  // kNoPeer: refused or closed, no longer read
  bool ending = false;    // the sender has closed the place or has ended
  bool exited = false;    // which of the two
  bool emptied = false;   // ending, and nothing is left
  bool corrupt = false;
  std::uint32_t place;
  ProcessWatch watch;
};

class IncomingPlaces {
 public:
  using Lost = std::vector<std::pair<PeerId, const char*>>;

  explicit IncomingPlaces(OwnSegment&& segment)
      : segment_(std::move(segment)), known_(segment_.places(), false) {}

  OwnSegment& segment() noexcept { return segment_; }
  const OwnSegment& segment() const noexcept { return segment_; }
  // Those that are read.
  const std::vector<std::unique_ptr<Incoming>>& active() const noexcept { return active_; }
  Incoming* find(PeerId peer) const noexcept {
    for (const auto& in : active_)
      if (in->peer == peer) return in.get();
    return nullptr;
  }

  // Whether there is work: a changed claim, or a call of attention by this process. One load.
  bool changed() const noexcept { return segment_.changes() != seen_changes_; }
  void call_attention() noexcept { seen_changes_ = kAttention; }
  void take_note() noexcept { seen_changes_ = segment_.changes(); }

  template <class Visit>
  void for_each_new_claim(Visit visit) {
    for (std::uint32_t place = 0; place < segment_.places(); ++place) {
      const Claim claim = segment_.claim(place);
      const bool in_use = claim.state == PlaceState::ready || claim.state == PlaceState::closing;
      if (in_use && !known_[place]) visit(place, claim);
    }
  }
  // Returns the address of the process that has claimed a place; nullopt when it is invalid.
  std::optional<Address> claimant(std::uint32_t place, Claim claim) const;
  // From now on the place is known; add() follows.
  std::unique_ptr<Incoming> incoming_at(std::uint32_t place, Claim claim,
                                        const std::optional<Address>& from);
  void add(std::unique_ptr<Incoming> in, bool wanted);
  // Stops reading a place; sort_out() moves it out of the way.
  void let_go(Incoming& in) noexcept;

  // Marks the places that their senders have closed, or whose senders have ended by the kernel's report.
  void note_goodbyes() noexcept;
  void note_deaths();
  // Removes places that are no longer read, and frees those without a writer. Returns the peers that are lost.
  Lost sort_out();

 private:
  static constexpr std::uint64_t kAttention = std::uint64_t{1} << 32;  // no number of changes
  using List = std::vector<std::unique_ptr<Incoming>>;

  std::array<List*, 2> lists() noexcept { return {&active_, &abandoned_}; }

  OwnSegment segment_;
  List active_;
  std::uint64_t seen_changes_ = 0;  // of claims, which have been attended to; or kAttention
  List abandoned_;                  // until their sender lets go of them
  std::vector<bool> known_;         // places that are in one of the two lists
};

}  // namespace lfc
