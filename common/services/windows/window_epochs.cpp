// Windows: epochs, and the calls that wait.
#include <algorithm>
#include <atomic>

#include "machine/process_watch.hpp"
#include "services/windows/window_op.hpp"
#include "sync/fence.hpp"

namespace lfc {
namespace {

// Passes until somebody who waits asks the kernel whether the neighbours still live: whom we reach by loads and stores
// alone no link watches. Some milliseconds.
constexpr unsigned kWatchPasses = 1 << 13;

// What neighbours have stored is seen, and what we have stored is seen by them, as the epoch says.
void order_memory() noexcept { full_fence(); }

}  // namespace

WindowStatus Window::take_error() noexcept { return std::exchange(error_, WindowStatus::ok); }

void Window::order_stores() noexcept {
  order_memory();
  stored_ = unordered_ = false;
}

bool Window::neighbour_died() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [&](const WindowPeer& peer) {
    const bool neighbour = peer.lock_is_mapped() && &peer != &peers_[rank_];
    return neighbour && ProcessWatch(peer.process).dead();
  });
}

// Everything else of the process goes on.
void Window::drive() {
  quiet_calls_ = 0;
  windows_.host().progress();
}

void Window::drive_if_quiet() {
  if (++quiet_calls_ > kQuietCalls) drive();
}

// Waits with everything else of the process going on. `ready` is called with the NI's lock held. What a target has told
// meanwhile is told, or kept for a later call.
template <class Ready>
WindowStatus Window::wait_until(Ready ready, Errors errors) {
  drive_if_quiet();
  for (unsigned pass = 0;; ++pass) {
    {
      const Ni::Access access(ni_);
      const bool is_ready = ready();
      if (lost_) return WindowStatus::lost;
      if (is_ready) return errors == Errors::told ? take_error() : WindowStatus::ok;
    }
    if (windows_.host_wanted_.load(std::memory_order_relaxed)) windows_.serve_host();
    if (pass % kWatchPasses == kWatchPasses - 1 && neighbour_died()) {
      const Ni::Access access(ni_);
      lost_ = true;
    }
    drive();
  }
}

// Origins and results of all operations towards the target are the caller's again.
bool Window::locally_complete(const WindowPeer& peer) const noexcept {
  return peer.first == nullptr && peer.replies == 0 && peer.natives == 0;
}

// And the target's memory has changed.
bool Window::remotely_complete(const WindowPeer& peer) const noexcept {
  return locally_complete(peer) && !peer.carrying && peer.counted >= peer.wanted;
}

WindowStatus Window::drain() {
  return wait_until([&] {
    return std::all_of(peers_.begin(), peers_.end(),
                       [&](const WindowPeer& peer) { return remotely_complete(peer); });
  });
}

// --- Fence ---

WindowStatus Window::fence_allowed() noexcept {
  const bool other = locks_ != 0 || lock_all_ || access_open_ || exposure_open_;
  return other ? WindowStatus::sync : WindowStatus::ok;
}

WindowStatus Window::fence_leave(std::span<std::uint32_t> sent) {
  const WindowStatus status = wait_until([&] {
    return std::all_of(peers_.begin(), peers_.end(),
                       [&](const WindowPeer& peer) { return locally_complete(peer); });
  });
  const Ni::Access access(ni_);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank)
    sent[rank] = std::exchange(peers_[rank].fence_sent, 0u);
  order_memory();
  return status;
}

WindowStatus Window::fence_arrived(std::uint32_t count) {
  const std::size_t which = odd_fence_ ? 1 : 0;
  fence_expected_[which] += count;
  const WindowStatus status =
      wait_until([&] { return fence_received_[which] == fence_expected_[which]; });
  odd_fence_ = !odd_fence_;
  order_memory();
  return status;
}

void Window::fence_enter(bool open) noexcept {
  fence_open_ = open;
  order_memory();
}

// --- Post, start, complete, wait ---

WindowStatus Window::start(std::span<const std::uint32_t> group, bool no_check) {
  const Ni::Access access(ni_);
  if (access_open_ || lock_all_ || locks_ != 0) return WindowStatus::sync;
  access_open_ = true;
  fence_open_ = false;
  access_group_.assign(group.begin(), group.end());
  for (const std::uint32_t rank : group) {
    WindowPeer& peer = peers_[rank];
    peer.in_access = true;
    peer.access_granted = no_check;
    peer.end_told = false;
    if (!no_check) ++peer.posts_used;
  }
  return WindowStatus::ok;
}

WindowStatus Window::complete() {
  if (!access_open_) return WindowStatus::sync;
  order_memory();
  const WindowStatus status = wait_until([&] {
    bool all = true;
    for (const std::uint32_t rank : access_group_) {
      WindowPeer& peer = peers_[rank];
      if (peer.end_told) continue;
      if (!locally_complete(peer)) {
        peer.ending = WindowPeer::End::complete;
        all = false;
        continue;
      }
      // Each target hears of it as soon as it can be told, and waits for what was sent before.
      peer.end_told = true;
      if (rank == rank_) {
        ++peer.completes;
      } else {
        signal(peer, WindowKind::complete, 0, peer.sent);
      }
    }
    return all;
  });
  const Ni::Access access(ni_);
  for (const std::uint32_t rank : access_group_) {
    peers_[rank].in_access = false;
    peers_[rank].ending = WindowPeer::End::none;
  }
  access_group_.clear();
  access_open_ = false;
  return status;
}

WindowStatus Window::post(std::span<const std::uint32_t> group, bool no_check) {
  order_memory();
  const Ni::Access access(ni_);
  if (exposure_open_) return WindowStatus::sync;
  exposure_open_ = true;
  fence_open_ = false;
  exposure_group_.assign(group.begin(), group.end());
  for (const std::uint32_t rank : group) {
    WindowPeer& peer = peers_[rank];
    ++peer.completes_used;
    if (no_check) continue;
    if (rank == rank_) {
      ++peer.posts;
      pump(peer);
    } else {
      signal(peer, WindowKind::post, 0, 0);
    }
  }
  return WindowStatus::ok;
}

bool Window::exposure_ended() noexcept {
  return std::all_of(exposure_group_.begin(), exposure_group_.end(), [&](std::uint32_t rank) {
    return static_cast<std::int32_t>(peers_[rank].completes - peers_[rank].completes_used) >= 0;
  });
}

WindowStatus Window::wait() {
  if (!exposure_open_) return WindowStatus::sync;
  const WindowStatus status = wait_until([&] { return exposure_ended(); });
  exposure_open_ = false;
  order_memory();
  return status;
}

WindowStatus Window::test(bool& flag) {
  flag = false;
  if (!exposure_open_) return WindowStatus::sync;
  ni_.progress();
  windows_.serve_host();
  {
    const Ni::Access access(ni_);
    flag = exposure_ended();
    if (lost_) return WindowStatus::lost;
    if (!flag) return WindowStatus::ok;
  }
  exposure_open_ = false;
  order_memory();
  return take_error();
}

// --- Lock ---

// Takes a lock that is mapped here. Waits its turn. What went wrong before is told by a call that ends something: an error
// here would leave open who has the lock.
WindowStatus Window::acquire(WindowPeer& peer) {
  TicketLock& lock = peer.control->lock;
  const std::uint32_t ticket = lock.draw();
  const bool exclusive = peer.exclusive;
  const WindowStatus status =
      wait_until([&] { return lock.enter(ticket, exclusive); }, Errors::kept);
  peer.lock = status == WindowStatus::ok ? WindowPeer::Lock::held : WindowPeer::Lock::none;
  return status;
}

WindowStatus Window::lock(std::uint32_t target, bool exclusive, bool no_check) {
  WindowPeer& peer = peers_[target];
  {
    const Ni::Access access(ni_);
    if (lock_all_ || access_open_ || peer.lock != WindowPeer::Lock::none) return WindowStatus::sync;
    fence_open_ = false;
    ++locks_;
    peer.exclusive = exclusive;
    peer.lock = no_check ? WindowPeer::Lock::assumed : WindowPeer::Lock::wanted;
  }
  if (no_check || !peer.lock_is_mapped()) {
    order_memory();
    return WindowStatus::ok;
  }
  const WindowStatus status = acquire(peer);
  if (status != WindowStatus::ok) --locks_;
  return status;
}

// The last of the operations that wait for the lock may give it free.
void Window::let_unlock_ride(WindowPeer& peer) {
  const Ni::Access access(ni_);
  peer.end_told = false;
  if (peer.lock_is_mapped() || peer.first == nullptr || peer.lock == WindowPeer::Lock::assumed)
    return;
  peer.unlocked = false;
  peer.ending = WindowPeer::End::unlock;
}

// Everything has got there; then the lock is free again.
WindowStatus Window::release(WindowPeer& peer) {
  WindowStatus status = WindowStatus::ok;
  order_memory();
  if (peer.lock == WindowPeer::Lock::held && !peer.lock_is_mapped()) {
    status = wait_until([&] {
      if (!peer.end_told) {
        if (!locally_complete(peer) || peer.carrying) return false;
        peer.end_told = true;
        peer.unlocked = false;
        signal(peer, WindowKind::unlock, 0, peer.sent);
        return false;
      }
      return peer.unlocked;
    });
  } else if (peer.lock == WindowPeer::Lock::held || peer.lock == WindowPeer::Lock::assumed) {
    status = wait_until([&] { return remotely_complete(peer); });
    if (peer.lock == WindowPeer::Lock::held) peer.control->lock.leave(peer.exclusive);
  }
  const Ni::Access access(ni_);
  peer.lock = WindowPeer::Lock::none;
  peer.ending = WindowPeer::End::none;
  return status;
}

WindowStatus Window::unlock(std::uint32_t target) {
  WindowPeer& peer = peers_[target];
  if (lock_all_ || peer.lock == WindowPeer::Lock::none) return WindowStatus::sync;
  let_unlock_ride(peer);
  const WindowStatus status =
      flush_local(target);  // the lock has been granted if anything needs it
  const WindowStatus released = release(peer);
  --locks_;
  return status != WindowStatus::ok ? status : released;
}

WindowStatus Window::lock_all(bool no_check) {
  {
    const Ni::Access access(ni_);
    if (lock_all_ || locks_ != 0 || access_open_) return WindowStatus::sync;
    fence_open_ = false;
    lock_all_ = true;
    lock_all_assumed_ = no_check;
  }
  order_memory();
  if (no_check) return WindowStatus::ok;
  for (WindowPeer& peer : peers_) {
    if (!peer.lock_is_mapped()) continue;  // with the first operation
    peer.exclusive = false;
    const WindowStatus status = acquire(peer);
    if (status == WindowStatus::ok) continue;
    (void)unlock_all();
    return status;
  }
  return WindowStatus::ok;
}

WindowStatus Window::unlock_all() {
  if (!lock_all_) return WindowStatus::sync;
  for (WindowPeer& peer : peers_) let_unlock_ride(peer);
  WindowStatus status = flush_local_all();
  for (WindowPeer& peer : peers_) {
    if (peer.lock == WindowPeer::Lock::none) continue;
    const WindowStatus released = release(peer);
    if (status == WindowStatus::ok) status = released;
  }
  const Ni::Access access(ni_);
  lock_all_ = false;
  lock_all_assumed_ = false;
  return status;
}

// --- Flush ---

WindowStatus Window::flush(std::uint32_t target) {
  WindowPeer& peer = peers_[target];
  if (!passive(peer)) return WindowStatus::sync;
  order_stores();
  return wait_until([&] { return remotely_complete(peer); });
}

WindowStatus Window::flush_local(std::uint32_t target) {
  WindowPeer& peer = peers_[target];
  if (!passive(peer)) return WindowStatus::sync;
  order_stores();
  return wait_until([&] { return locally_complete(peer); });
}

WindowStatus Window::flush_all() {
  if (!lock_all_ && locks_ == 0) return WindowStatus::sync;
  order_memory();
  return wait_until([&] {
    return std::all_of(peers_.begin(), peers_.end(),
                       [&](const WindowPeer& peer) { return remotely_complete(peer); });
  });
}

WindowStatus Window::flush_local_all() {
  if (!lock_all_ && locks_ == 0) return WindowStatus::sync;
  order_memory();
  return wait_until([&] {
    return std::all_of(peers_.begin(), peers_.end(),
                       [&](const WindowPeer& peer) { return locally_complete(peer); });
  });
}

}  // namespace lfc
