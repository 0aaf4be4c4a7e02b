#include "link/shm/incoming_places.hpp"

#include <cstring>
#include <string>

#include "base/bytes.hpp"
#include "machine/hand_over.hpp"

namespace lfc {
namespace {

ProcessWatch watch_of(Claim claim, const std::optional<Address>& from) {
  std::string why_not;
  if (claim.pid != 0 || !from) return ProcessWatch(claim.pid);
  return ProcessWatch(hand_over::request(segment_of(*from)->memory.cookie, why_not).process);
}

}  // namespace

std::optional<SegmentName> segment_of(const Address& address) {
  const std::span<const std::byte> section = address.section("shm");
  if (section.size() != sizeof(SegmentName)) return std::nullopt;
  return read_pod<SegmentName>(section);
}

std::optional<Address> IncomingPlaces::claimant(std::uint32_t place, Claim claim) const {
  // A copy, because the sender could change the original after the check.
  PlaceHead head;
  std::memcpy(static_cast<void*>(&head), &segment_.head(place), sizeof head);
  if (head.address_size > kMaxAddress) return std::nullopt;
  std::optional<Address> address = Address::parse({head.address, head.address_size});
  const std::optional<SegmentName> name = address ? segment_of(*address) : std::nullopt;
  std::string why_not;
  if (!name || !is_local_peer(segment_.name(), *name, why_not) ||
      claim.pid != (counts_alike(segment_.name(), *name) ? name->memory.pid : 0))
    return std::nullopt;
  return address;
}

std::unique_ptr<Incoming> IncomingPlaces::incoming_at(std::uint32_t place, Claim claim,
                                                      const std::optional<Address>& from) {
  known_[place] = true;
  auto in = std::make_unique<Incoming>(place, segment_.ring(place), segment_.shape(),
                                       watch_of(claim, from));
  in->ending = claim.state == PlaceState::closing;
  return in;
}

void IncomingPlaces::add(std::unique_ptr<Incoming> in, bool wanted) {
  if (wanted) {
    active_.push_back(std::move(in));
  } else {
    let_go(*in);
    abandoned_.push_back(std::move(in));
  }
}

void IncomingPlaces::let_go(Incoming& in) noexcept {
  segment_.head(in.place).abandoned.store(1, std::memory_order_relaxed);
  in.peer = kNoPeer;
  call_attention();
}

void IncomingPlaces::note_goodbyes() noexcept {
  for (const List* list : lists()) {
    for (const auto& in : *list) {
      if (in->ending || segment_.claim(in->place).state != PlaceState::closing) continue;
      in->ending = true;
      call_attention();
    }
  }
}

void IncomingPlaces::note_deaths() {
  segment_.free_stillborn();
  for (const List* list : lists()) {
    for (const auto& in : *list) {
      if (in->ending || !in->watch.dead()) continue;
      // An orderly goodbye just before is found in the claim.
      in->exited = segment_.claim(in->place).state != PlaceState::closing;
      in->ending = true;
      call_attention();
    }
  }
}

IncomingPlaces::Lost IncomingPlaces::sort_out() {
  Lost lost;
  std::erase_if(active_, [&](std::unique_ptr<Incoming>& in) {
    if (in->corrupt) lost.emplace_back(in->peer, "the peer broke the protocol of the ring");
    if (in->emptied && in->exited) lost.emplace_back(in->peer, kExited);
    if (in->emptied && in->peer != kNoPeer) {
      known_[in->place] = false;
      segment_.free(in->place);
      return true;
    }
    if (in->corrupt) let_go(*in);
    if (in->peer != kNoPeer) return false;
    abandoned_.push_back(std::move(in));
    return true;
  });
  std::erase_if(abandoned_, [&](const std::unique_ptr<Incoming>& in) {
    if (!in->ending) return false;
    known_[in->place] = false;
    segment_.free(in->place);
    return true;
  });
  std::erase_if(lost, [](const auto& each) { return each.first == kNoPeer; });
  return lost;
}

}  // namespace lfc
