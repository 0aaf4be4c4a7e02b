#include "services/windows/protocol/epochs.hpp"

#include <algorithm>
#include <utility>

namespace lfc::rma {

using Lock = OriginPeer::Lock;
using End = OriginPeer::End;

// --- Fence ---

WindowStatus Epochs::fence_allowed() const noexcept {
  const bool other = any_lock() || started() || exposure_open_;
  return other ? WindowStatus::sync : WindowStatus::ok;
}

void Epochs::fence_leave(std::span<std::uint32_t> sent) noexcept {
  std::fill(sent.begin(), sent.end(), 0u);
  for (const auto& peer : origin_.used()) sent[peer->rank] = std::exchange(peer->fence_sent, 0u);
}

// --- Post, start, complete, wait ---

WindowStatus Epochs::start(std::span<const Rank> group, bool no_check) {
  if (started() || any_lock()) return WindowStatus::sync;
  // Allocations come first, so that an epoch begins in full or not at all.
  for (const Rank rank : group) (void)origin_.use(rank);
  access_group_.assign(group.begin(), group.end());
  origin_.access().started = true;
  origin_.access().fence_open = false;
  for (const Rank rank : group) {
    OriginPeer& peer = *origin_.find(rank);
    peer.in_access = true;
    peer.access_granted = no_check;
    peer.sent_in_access = false;
    peer.end_sent = false;
    if (!no_check) ++peer.posts_used;
  }
  return WindowStatus::ok;
}

bool Epochs::complete_step() {
  bool all = true;
  for (const Rank rank : access_group_) {
    OriginPeer& peer = *origin_.find(rank);
    if (peer.end_sent) continue;
    if (!peer.all_left()) {
      peer.ending = End::complete;
      all = false;
      continue;
    }
    // Each target is notified as early as possible, and waits for the fragments that were sent before.
    peer.end_sent = true;
    if (rank == self_) {
      target_.completed(self_);
    } else {
      origin_.carrier().signal(rank, head_of(WindowKind::complete, 0, peer.sent));
    }
  }
  return all;
}

void Epochs::end_access() noexcept {
  for (const Rank rank : access_group_) {
    OriginPeer& peer = *origin_.find(rank);
    peer.in_access = false;
    peer.ending = End::none;
  }
  access_group_.clear();
  origin_.access().started = false;
}

WindowStatus Epochs::post(std::span<const Rank> group, bool no_check) {
  if (exposure_open_) return WindowStatus::sync;
  for (const Rank rank : group) {
    (void)target_.peer(rank);
    if (rank == self_) (void)origin_.use(rank);
  }
  exposure_group_.assign(group.begin(), group.end());
  exposure_open_ = true;
  origin_.access().fence_open = false;
  for (const Rank rank : group) {
    target_.expect_complete(rank);
    if (no_check) continue;
    if (rank == self_) {
      origin_.on_post(origin_.use(rank));
    } else {
      origin_.carrier().signal(rank, head_of(WindowKind::post, 0));
    }
  }
  return WindowStatus::ok;
}

bool Epochs::exposure_ended() const noexcept {
  return std::all_of(exposure_group_.begin(), exposure_group_.end(),
                     [&](Rank rank) { return target_.has_completed(rank); });
}

// --- Locks ---

WindowStatus Epochs::begin_lock(Rank target, bool exclusive, bool no_check) {
  AccessState& access = origin_.access();
  OriginPeer& peer = origin_.use(target);
  if (access.lock_all || access.started || peer.lock != Lock::none) return WindowStatus::sync;
  access.fence_open = false;
  ++access.locks;
  peer.exclusive = exclusive;
  peer.yields = false;
  peer.past = !exclusive && origin_.several_locks();
  peer.lock = no_check ? Lock::assumed : Lock::wanted;
  return WindowStatus::ok;
}

WindowStatus Epochs::begin_lock_all(bool no_check) noexcept {
  if (any_lock() || started()) return WindowStatus::sync;
  AccessState& access = origin_.access();
  access.fence_open = false;
  access.lock_all = true;
  access.lock_all_assumed = no_check;
  return WindowStatus::ok;
}

bool Epochs::try_lock(OriginPeer& peer, std::uint32_t ticket) noexcept {
  TicketLock& lock = peer.control->lock;
  if (!(peer.past ? lock.enter_past(peer.yields) : lock.enter(ticket, peer.exclusive, peer.beside)))
    return false;
  peer.lock = Lock::held;
  return true;
}

void Epochs::prepare_lock_all(bool beside) noexcept {
  for (const auto& peer : origin_.used()) {
    if (!peer->lock_is_mapped()) continue;  // requested by the first operation
    peer->exclusive = false;
    peer->past = true;
    peer->yields = !beside;
  }
}

bool Epochs::try_lock_all(std::size_t& next) noexcept {
  for (; next < origin_.ranks(); ++next) {
    OriginPeer* const wanted = origin_.find(static_cast<Rank>(next));
    if (wanted == nullptr || !wanted->lock_is_mapped() || try_lock(*wanted, 0)) continue;
    const auto is_held = [next](const auto& peer) {
      return peer->rank < next && peer->lock_is_mapped();
    };
    const auto& used = origin_.used();
    const bool holds_up = std::any_of(used.begin(), used.end(), [&](const auto& peer) {
      return is_held(peer) && peer->control->lock.holds_up_another();
    });
    if (!holds_up) return false;
    for (const auto& peer : used)
      if (is_held(peer)) end_lock(*peer);
    next = 0;
    return false;
  }
  return true;
}

void Epochs::let_unlock_ride(OriginPeer& peer) noexcept {
  peer.end_sent = false;
  const bool waits = peer.first != nullptr || (peer.bundle != nullptr && !is_copying(peer));
  if (peer.lock_is_mapped() || !waits || peer.lock == Lock::assumed) return;
  peer.unlocked = false;
  peer.ending = End::unlock;
}

bool Epochs::unlock_step(OriginPeer& peer) {
  if (peer.lock == Lock::requested) return false;  // the target's grant is on its way
  if (peer.lock < Lock::held) return true;         // no operation has requested it
  if (peer.lock == Lock::assumed || peer.lock_is_mapped()) return peer.remotely_complete();
  if (peer.end_sent) return peer.unlocked;
  if (!peer.all_left() || peer.carrying) return false;
  peer.end_sent = true;
  peer.unlocked = false;
  origin_.carrier().signal(peer.rank, head_of(WindowKind::unlock, 0, peer.sent));
  return false;
}

void Epochs::end_lock(OriginPeer& peer) noexcept {
  if (peer.lock == Lock::held && peer.lock_is_mapped()) {
    TicketLock& lock = peer.control->lock;
    peer.past ? lock.leave_past() : lock.leave(peer.exclusive);
  }
  peer.lock = Lock::none;
  peer.ending = End::none;
}

void Epochs::end_lock_all() noexcept {
  origin_.access().lock_all = false;
  origin_.access().lock_all_assumed = false;
}

}  // namespace lfc::rma
