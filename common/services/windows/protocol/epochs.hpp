// Epochs: fences, post/start/complete/wait and locks of a window, which join the two halves of its protocol. A call
// that waits is split into a beginning, a step that is true when nothing is left to wait for, and an end. Nothing here
// waits.
//
//   if (epochs.start(group, false) != WindowStatus::ok) ...
//   while (!epochs.complete_step()) progress();              // notifies each target as early as possible
//   epochs.end_access();
//
// | state of a lock at its origin | how it leaves the state |
// |-------------------------------|-------------------------------------------------------------------------------|
// | none                          | begin_lock(): wanted, or assumed (nocheck)                                    |
// | wanted                        | mapped: try_lock() with a ticket: held. Else by the first operation: requested |
// | requested                     | the target's grant: held |
// | held, assumed                 | unlock_step() until the target has all and has replied; end_lock(): none |
//
// Threads: the caller serialises.
// Source: MPI-3.1 11.5. Tests: tests/unit/services/windows/protocol_test.cpp (all interleavings of small cases).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "look/records.hpp"
#include "services/windows/protocol/origin.hpp"
#include "services/windows/protocol/target.hpp"

namespace lfc::rma {

class Epochs {
 public:
  Epochs(Rank self, Origin& origin, Target& target) noexcept
      : self_(self), origin_(origin), target_(target) {}

  // --- Fence ---

  WindowStatus fence_allowed() const noexcept;
  // Stores how many fragments of the epoch were sent to each rank. Call it when all is locally complete.
  void fence_leave(std::span<std::uint32_t> sent) noexcept;
  // Sets how many fragments were sent to this member. When all have arrived, fence_next() begins the next fence.
  void fence_expect(std::uint32_t count) noexcept {
    target_.expect_in_fence(origin_.access().odd_fence, count);
  }
  bool fence_arrived() const noexcept { return target_.all_in_fence(origin_.access().odd_fence); }
  void fence_next() noexcept { origin_.access().odd_fence = !origin_.access().odd_fence; }
  void fence_enter(bool open) noexcept { origin_.access().fence_open = open; }

  // --- Post, start, complete, wait ---

  WindowStatus start(std::span<const Rank> group, bool no_check);
  bool started() const noexcept { return origin_.access().started; }
  bool complete_step();
  void end_access() noexcept;
  WindowStatus post(std::span<const Rank> group, bool no_check);
  bool exposed() const noexcept { return exposure_open_; }
  bool exposure_ended() const noexcept;
  void end_exposure() noexcept { exposure_open_ = false; }

  // --- Locks ---

  WindowStatus begin_lock(Rank target, bool exclusive, bool no_check);
  WindowStatus begin_lock_all(bool no_check) noexcept;
  // Tries to take a mapped lock. True: it is held, because the ticket's turn has come or no ticket was needed.
  static bool try_lock(OriginPeer& peer, std::uint32_t ticket) noexcept;
  // Prepares the mapped locks after begin_lock_all(). `beside`: the process holds locks of other windows.
  void prepare_lock_all(bool beside) noexcept;
  // Takes them in the order of ranks, from `next` on. True: all are held. False: the next one is not free. All are
  // given back if a writer that holds other locks waits for one of them, because the next one may be that writer's.
  bool try_lock_all(std::size_t& next) noexcept;
  // Lets the last operation that waits for the lock carry the unlock.
  static void let_unlock_ride(OriginPeer& peer) noexcept;
  // Advances an unlock after all operations are locally complete. True: the target has all of them, and end_lock()
  // follows.
  bool unlock_step(OriginPeer& peer);
  static void end_lock(OriginPeer& peer) noexcept;
  void end_one_lock() noexcept { --origin_.access().locks; }
  void end_lock_all() noexcept;
  // Returns whether a passive epoch is open, towards one member or all.
  bool any_lock() const noexcept {
    return origin_.access().lock_all || origin_.access().locks != 0;
  }

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look
  const Rank self_;
  Origin& origin_;
  Target& target_;
  bool exposure_open_ = false;
  std::vector<Rank> access_group_;
  std::vector<Rank> exposure_group_;
};

}  // namespace lfc::rma
