// OriginPeers: an origin's state of its targets and its open epochs, which decides whether an operation may start now.
// Origin (origin.hpp) issues the operations. A target that was never used takes 8 bytes, and 12 more if the members'
// sizes and units differ.
//
//   peers.describe(true, [&](Rank rank) { return facts[rank].size; }, [](Rank) { return 8u; });
//   OriginPeer& peer = peers.use(target);
//   if (peers.passive(peer)) ...                          // by a lock
//   const Way way = choose(peer.reach, shape, peers.moment(peer));
//
// Invariant: a state that was made stays, at its address. *Held by* "a target takes its state at its first use".
// Threads: the caller serialises, except for peer(), find() and Published members. A thread that finds a state sees
// all stores before the end of use().
// Source: MPI-3.1 11.5. Tests: tests/unit/services/windows/protocol_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/column.hpp"
#include "look/records.hpp"
#include "look/states.hpp"
#include "services/windows/protocol/bundle.hpp"
#include "services/windows/protocol/carrier.hpp"
#include "services/windows/protocol/exposed_memory.hpp"
#include "services/windows/protocol/pending_operations.hpp"
#include "sync/published.hpp"

namespace lfc {
struct RegionHandle;
}

namespace lfc::rma {

// An origin's state of one target.
struct OriginPeer {
  using Lock = look::TargetLock;
  enum class End : std::uint8_t { none, complete, unlock };

  // For an access by loads and stores.
  std::byte* mapped = nullptr;  // its memory, in this process
  WindowControl* control =
      nullptr;  // its control, in this process, for any flavour; null: not mapped
  std::uint64_t size = 0;
  Published<WindowOp*> first{nullptr};  // operations that wait, in order
  Published<Lock> lock{Lock::none};
  bool in_access = false;  // in the group of the access epoch
  Reach reach;
  Published<bool> link_known{false};  // `reach` has the link's abilities, and changes no more
  std::uint32_t displacement_unit = 1;
  Rank rank = 0;
  const RegionHandle* region = nullptr;  // its memory, for the link; set before link_known

  // Small operations that wait before those in the queue; null: none. While it is not null, nothing overtakes them.
  std::unique_ptr<Bundle> bundle;
  std::uint64_t copied_in = 0;  // value of OriginPeers::waits_ when the link last copied a put
  WindowOp* last = nullptr;
  std::uint32_t queued = 0;  // operations from `first` to `last`
  // A fragment waits in the carrier for a credit; pump() runs.
  bool carrying = false, pumping = false;
  bool exclusive = false;
  bool past = false;                      // shared, past writers that wait
  bool yields = false;                    // but not past a writer that waits for those inside
  bool beside = false;                    // the process had other locks when it began
  bool access_granted = false;            // no post is needed (nocheck)
  bool sent_in_access = false;            // a fragment, in the access epoch
  End ending = End::none;                 // rides in the last fragment that waits
  bool end_sent = false;                  // complete or unlock has been sent
  bool unlocked = false;                  // the target has replied to the unlock
  std::uint64_t sent = 0;                 // put and accumulate fragments
  std::uint64_t wanted = 0, counted = 0;  // of them: an ack will count so many; has counted so many
  std::uint32_t fence_sent = 0;           // in the fence epoch that is open
  std::uint32_t replies = 0, natives = 0;  // results that have not arrived; operations in the link
  std::uint32_t posts = 0, posts_used = 0;

  void enqueue(WindowOp& op) noexcept;
  void dequeue() noexcept;  // the first
  // True: its lock is mapped, and this process takes it itself.
  bool lock_is_mapped() const noexcept { return control != nullptr; }
  // True: origins and results of all operations towards the target are the caller's again.
  bool locally_complete() const noexcept {
    return first == nullptr && replies == 0 && natives == 0;
  }
  // True: no operation waits here either. The contents of a bundle are copies, so it delays no local completion.
  bool all_left() const noexcept { return locally_complete() && bundle == nullptr; }
  // True: the target's memory has changed as well.
  bool remotely_complete() const noexcept { return all_left() && !carrying && counted >= wanted; }
  // True: an operation in frames has not been done yet.
  bool frames_under_way() const noexcept {
    return replies != 0 || carrying || counted < wanted || bundle != nullptr ||
           (first != nullptr && last->way != Way::link);
  }
  // True: another operation that has to be described must wait.
  bool crowded() const noexcept {
    return queued >= limits::kWindowWaiting || replies + natives >= limits::kWindowWaiting;
  }
};

// True: the open bundle is of puts that the link copies. The lock is held, and no frame is under way.
inline bool is_copying(const OriginPeer& peer) noexcept {
  return peer.bundle != nullptr && peer.bundle->by_link();
}

// The open epoch of this process, as an origin.
struct AccessState {
  bool fence_open = false;
  bool odd_fence = false;
  bool started = false;  // start, not complete
  bool lock_all = false;
  bool lock_all_assumed = false;
  std::uint32_t locks = 0;  // by lock(), not lock_all()
  bool beside = false;      // the newest of them began beside locks of any window
};

class OriginPeers {
 public:
  // Sets the memory of all members before the first use. `registered`: as in Reach.
  template <class SizeOf, class UnitOf>
  void describe(bool registered, SizeOf size_of, UnitOf unit_of) {
    silent_.reach.registered = registered;
    sizes_.set(ranks(), size_of);
    units_.set(ranks(), unit_of);
  }
  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(peers_.size()); }
  std::uint64_t memory_size(Rank rank) const noexcept { return sizes_[rank]; }
  std::uint32_t displacement_unit(Rank rank) const noexcept { return units_[rank]; }

  // Returns the state of a target, for readers. Targets that were never used share one, of which only
  // Reach::registered is theirs: no memory is mapped, and nothing is under way.
  const OriginPeer& peer(Rank rank) const noexcept { return *peers_[rank].peer; }
  // Returns the state of a target; null: it was never used.
  OriginPeer* find(Rank rank) noexcept {
    OriginPeer* const peer = peers_[rank].peer;
    return peer != &silent_ ? peer : nullptr;
  }
  // Returns the state of a target, made now if this is its first use. Throws std::bad_alloc.
  OriginPeer& use(Rank rank) {
    OriginPeer* const known = find(rank);
    return known != nullptr ? *known : make(rank);
  }
  // Returns the states that were made.
  const std::vector<std::unique_ptr<OriginPeer>>& used() const noexcept { return used_; }
  // Returns one of them, by the order in which they were made; null: there are not so many. A loop over them may give
  // up the lock between two.
  OriginPeer* used_at(std::size_t index) noexcept {
    return index < used_.size() ? used_[index].get() : nullptr;
  }

  AccessState& access() noexcept { return access_; }
  const AccessState& access() const noexcept { return access_; }
  Carrier& carrier() const noexcept { return carrier_; }

  Moment moment(OriginPeer& peer);
  // Returns whether a small put or accumulate in frames joins others in a bundle. A lone one leaves at once.
  bool joins(const OriginPeer& peer, const Moment& now) const noexcept {
    if (peer.first != nullptr) return false;
    if (!now.ready) return true;
    if (now.passive) return peer.counted < peer.wanted;
    return peer.in_access ? peer.sent_in_access : peer.fence_sent != 0;
  }
  // Returns whether an access by loads and stores is permitted now; it needs nothing else. Called without the lock.
  bool open_for_stores(const OriginPeer& peer) const noexcept {
    return peer.lock >= OriginPeer::Lock::held ||
           (peer.lock == OriginPeer::Lock::none && !access_.lock_all && !peer.in_access &&
            access_.fence_open);
  }
  bool passive(const OriginPeer& peer) const noexcept {
    return peer.lock != OriginPeer::Lock::none || access_.lock_all;
  }

  // Returns whether one of the open locks may wait while another is held.
  bool several_locks() const noexcept {
    return access_.lock_all || access_.locks > 1 || access_.beside;
  }
  // Requests the target's lock, which has been begun, unless it has been requested already.
  void request_lock(OriginPeer& peer) { (void)permitted(peer); }

  void note_wait() noexcept { ++waits_; }
  // Conditions of waiting calls.
  bool all_locally_complete() const noexcept;
  bool all_left() const noexcept;
  bool all_remotely_complete() const noexcept;

 protected:
  OriginPeers(std::uint32_t ranks, Carrier& carrier);
  ~OriginPeers() = default;

  // Returns whether an operation may reach the target now. The first one that needs the lock requests it.
  bool permitted(OriginPeer& peer);

  std::unique_ptr<Bundle> close_bundle(OriginPeer& peer) noexcept;

  struct Place {
    Published<OriginPeer*> peer{nullptr};
  };

  Carrier& carrier_;
  std::vector<Place> peers_;  // by rank: &silent_ until the first use
  AccessState access_;
  std::vector<Rank> bundled_;  // with an open bundle
  std::uint64_t waits_ = 1;    // begun

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look

  OriginPeer& make(Rank rank);

  OriginPeer silent_;  // constant after describe()
  std::vector<std::unique_ptr<OriginPeer>> used_;
  Column<std::uint64_t> sizes_;
  Column<std::uint32_t> units_{1};
};

}  // namespace lfc::rma
