// LockOrder: the open locks of a process, in all its windows. Each thread gets its locks in the order of its requests:
// it waits for a lock that its target has not granted yet before it begins the next one. So programs that keep to one
// order of all locks do not wait in a circle.
//
//   while (!order.settle()) progress();                      // before a lock is begun
//   origin.access().beside = order.any();
//   order.opened(origin, peer);
//   ...
//   order.closed(peer);
//
// No thread waits for a request of another thread, because the holder of that lock may be waiting for this thread.
// Threads: the host's only one; with `threads` any, with Ni::Access held, but for settled().
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "services/windows/protocol/origin.hpp"

namespace lfc {

class LockOrder {
 public:
  explicit LockOrder(bool threads) noexcept : threads_(threads) {}

  // True: other locks may be open. With several threads always true.
  bool any() const noexcept { return open_ != 0 || threads_; }
  // Returns whether other locks are open now.
  bool others() const noexcept { return open_ != 0; }
  // True: settle() has nothing to do. With several threads always false.
  bool settled() const noexcept { return !threads_ && requested_.empty(); }
  // Requests this thread's lock if no operation has requested it yet. True: no lock of this thread waits for its grant.
  bool settle() {
    const auto mine = find();
    if (mine == requested_.end()) return true;
    const rma::OriginPeer::Lock state = mine->peer->lock;
    const bool waits =
        state == rma::OriginPeer::Lock::wanted || state == rma::OriginPeer::Lock::requested;
    if (!waits || mine->origin->trouble().lost) {
      requested_.erase(mine);
      return true;
    }
    mine->origin->request_lock(*mine->peer);
    return false;
  }

  void opened() noexcept { ++open_; }
  void opened(rma::Origin& origin, rma::OriginPeer& peer) {
    ++open_;
    if (peer.lock == rma::OriginPeer::Lock::wanted && !peer.lock_is_mapped())
      requested_.push_back({self(), &origin, &peer});
  }
  void closed() noexcept { --open_; }
  void closed(const rma::OriginPeer& peer) noexcept {
    closed();
    std::erase_if(requested_, [&](const Requested& one) { return one.peer == &peer; });
  }
  // Removes the open locks of a window that ends.
  void left(const rma::Origin& origin) noexcept {
    open_ -= origin.access().locks + (origin.access().lock_all ? 1 : 0);
    std::erase_if(requested_, [&](const Requested& one) { return one.origin == &origin; });
  }

 private:
  // The newest lock of a thread, until settle() finds it granted.
  struct Requested {
    std::thread::id by;
    rma::Origin* origin;
    rma::OriginPeer* peer;
  };
  std::thread::id self() const noexcept {
    return threads_ ? std::this_thread::get_id() : std::thread::id();
  }
  std::vector<Requested>::iterator find() noexcept {
    return std::find_if(requested_.begin(), requested_.end(),
                        [by = self()](const Requested& one) { return one.by == by; });
  }

  std::uint32_t open_ = 0;
  std::vector<Requested>
      requested_;  // at most one for each thread, which begins the next after the grant
  const bool threads_;
};

}  // namespace lfc
