// LockOrder: the locks that a process has open, in all its windows. Each of its threads gets them in the order in which
// it has asked: a lock that its target has not granted yet is waited for before the same thread begins the next one. So
// programs that keep to one order of all locks do not wait in a circle.
//
//   while (!order.settle()) progress();                      // before a lock is begun
//   origin.access().beside = order.any();
//   order.opened(origin, peer);
//   ...
//   order.closed(peer);
//
// Nobody waits for what another thread has asked for: who holds it may be waiting for this one.
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

  // Whether others are open, as far as is known.
  bool any() const noexcept { return open_ != 0 || threads_; }
  // Whether others are open now.
  bool others() const noexcept { return open_ != 0; }
  // Whether settle() has nothing to do; with several threads it has to look.
  bool settled() const noexcept { return !threads_ && asked_.empty(); }
  // Asks for the lock of this thread that nothing has needed yet. True: there is none that is not granted.
  bool settle() {
    const auto mine = find();
    if (mine == asked_.end()) return true;
    const rma::OriginPeer::Lock state = mine->peer->lock;
    const bool waits =
        state == rma::OriginPeer::Lock::wanted || state == rma::OriginPeer::Lock::requested;
    if (!waits || mine->origin->trouble().lost) {
      asked_.erase(mine);
      return true;
    }
    mine->origin->ask(*mine->peer);
    return false;
  }

  void opened() noexcept { ++open_; }
  void opened(rma::Origin& origin, rma::OriginPeer& peer) {
    ++open_;
    if (peer.lock == rma::OriginPeer::Lock::wanted && !peer.lock_is_mapped())
      asked_.push_back({self(), &origin, &peer});
  }
  void closed() noexcept { --open_; }
  void closed(const rma::OriginPeer& peer) noexcept {
    closed();
    std::erase_if(asked_, [&](const Asked& one) { return one.peer == &peer; });
  }
  // The window is gone, with what it had open.
  void left(const rma::Origin& origin) noexcept {
    open_ -= origin.access().locks + (origin.access().lock_all ? 1 : 0);
    std::erase_if(asked_, [&](const Asked& one) { return one.origin == &origin; });
  }

 private:
  // The newest lock of a thread, until it is seen to be granted.
  struct Asked {
    std::thread::id by;
    rma::Origin* origin;
    rma::OriginPeer* peer;
  };
  std::thread::id self() const noexcept {
    return threads_ ? std::this_thread::get_id() : std::thread::id();
  }
  std::vector<Asked>::iterator find() noexcept {
    return std::find_if(asked_.begin(), asked_.end(),
                        [by = self()](const Asked& one) { return one.by == by; });
  }

  std::uint32_t open_ = 0;
  std::vector<Asked>
      asked_;  // one of a thread at most, for none begins the next before it is granted
  const bool threads_;
};

}  // namespace lfc
