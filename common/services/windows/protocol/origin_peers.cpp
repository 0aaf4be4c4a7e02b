#include "services/windows/protocol/origin_peers.hpp"

#include <algorithm>
#include <utility>

namespace lfc::rma {

void OriginPeer::enqueue(WindowOp& op) noexcept {
  op.next = nullptr;
  if (first == nullptr) {
    first = &op;
  } else {
    last->next = &op;
  }
  last = &op;
  ++queued;
}

void OriginPeer::dequeue() noexcept {
  WindowOp* const done = first;
  first = done->next;
  --queued;
}

OriginPeers::OriginPeers(std::uint32_t ranks, Carrier& carrier) : carrier_(carrier), peers_(ranks) {
  for (Place& place : peers_) place.peer = &silent_;
}

OriginPeer& OriginPeers::make(Rank rank) {
  OriginPeer& made = *used_.emplace_back(std::make_unique<OriginPeer>());
  made.rank = rank;
  made.size = sizes_[rank];
  made.displacement_unit = units_[rank];
  made.reach = silent_.reach;
  peers_[rank].peer = &made;
  return made;
}

bool OriginPeers::permitted(OriginPeer& peer) {
  if (passive(peer)) {
    if (peer.lock == OriginPeer::Lock::none) {
      peer.lock = access_.lock_all_assumed ? OriginPeer::Lock::assumed : OriginPeer::Lock::wanted;
      peer.exclusive = false;
    }
    if (peer.lock == OriginPeer::Lock::wanted) {
      peer.lock = OriginPeer::Lock::requested;
      peer.past = !peer.exclusive && several_locks();
      const std::uint8_t how = peer.exclusive ? kExclusive : peer.past ? kPast : 0;
      carrier_.signal(peer.rank, head_of(WindowKind::lock, how));
    }
    return peer.lock != OriginPeer::Lock::requested;
  }
  if (peer.in_access)
    return peer.access_granted || static_cast<std::int32_t>(peer.posts - peer.posts_used) >= 0;
  return true;
}

Moment OriginPeers::moment(OriginPeer& peer) {
  Moment now;
  // First, so that the first operation of an epoch requests the lock even if it has to wait for something else.
  const bool may = permitted(peer);
  now.ready = may && peer.first == nullptr && peer.bundle == nullptr && !peer.carrying;
  now.passive = passive(peer);
  now.held = peer.lock >= OriginPeer::Lock::held;
  now.frames_under_way = peer.frames_under_way();
  return now;
}

std::unique_ptr<Bundle> OriginPeers::close_bundle(OriginPeer& peer) noexcept {
  const auto found = std::find(bundled_.begin(), bundled_.end(), peer.rank);
  *found = bundled_.back();
  bundled_.pop_back();
  return std::move(peer.bundle);
}

bool OriginPeers::all_locally_complete() const noexcept {
  return std::all_of(used_.begin(), used_.end(),
                     [](const auto& peer) { return peer->locally_complete(); });
}

bool OriginPeers::all_left() const noexcept {
  return std::all_of(used_.begin(), used_.end(), [](const auto& peer) { return peer->all_left(); });
}

bool OriginPeers::all_remotely_complete() const noexcept {
  return std::all_of(used_.begin(), used_.end(),
                     [](const auto& peer) { return peer->remotely_complete(); });
}

}  // namespace lfc::rma
