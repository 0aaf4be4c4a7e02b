// LockOrder: the locks that a process has open, in all its windows. It gets them in the order in which it has asked: a lock
// that its target has not granted yet is waited for before the next one is begun. So programs that keep to one order of
// all locks do not wait in a circle.
//
//   while (!order.settle()) progress();                      // before a lock is begun
//   origin.access().beside = order.any();
//   order.opened(origin, peer);
//   ...
//   order.closed(peer);
//
// With several threads nobody waits for a lock of another one, and order is theirs to keep.
// Threads: the host's only one; for_threads(), any() and settled() any.
#pragma once

#include <cstdint>

#include "services/windows/origin.hpp"

namespace lfc {

class LockOrder {
 public:
  void for_threads() noexcept { threads_ = true; }
  // Whether others are open, as far as is known.
  bool any() const noexcept { return open_ != 0 || threads_; }
  bool settled() const noexcept { return asked_ == nullptr; }
  // Asks for the lock that nothing has needed yet. True: there is none that is not granted.
  bool settle() {
    if (asked_ == nullptr) return true;
    const bool waits = asked_->lock == rma::OriginPeer::Lock::wanted ||
                       asked_->lock == rma::OriginPeer::Lock::requested;
    if (!waits || origin_->trouble().lost) {
      asked_ = nullptr;
      return true;
    }
    origin_->ask(*asked_);
    return false;
  }

  void opened() noexcept {
    if (!threads_) ++open_;
  }
  void opened(rma::Origin& origin, rma::OriginPeer& peer) noexcept {
    if (threads_) return;
    ++open_;
    if (peer.lock != rma::OriginPeer::Lock::wanted || peer.lock_is_mapped()) return;
    origin_ = &origin;
    asked_ = &peer;
  }
  void closed() noexcept {
    if (!threads_) --open_;
  }
  void closed(const rma::OriginPeer& peer) noexcept {
    closed();
    if (asked_ == &peer) asked_ = nullptr;
  }
  // The window is gone, with what it had open.
  void left(const rma::Origin& origin) noexcept {
    if (threads_) return;
    open_ -= origin.access().locks + (origin.access().lock_all ? 1 : 0);
    if (origin_ == &origin) asked_ = nullptr;
  }

 private:
  std::uint32_t open_ = 0;
  rma::Origin* origin_ = nullptr;
  rma::OriginPeer* asked_ = nullptr;  // the newest lock, until it is seen to be granted
  bool threads_ = false;
};

}  // namespace lfc
