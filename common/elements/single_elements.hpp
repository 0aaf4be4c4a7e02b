// SingleElements: the state that decides whether one member of a window changes single elements by CPU atomics alone,
// or under the element lock.
//
// A CPU atomic is the fastest way to change one element, and a vector loop the fastest to change many. But the loop
// must not lose the change of an atomic between its load and its store. So each member starts with atomics, without the
// lock. It gives them up for ever when another member that has many elements to change requests that. The word is in
// memory that every process with access to the elements can reach.
//
//   if (mine.may_skip_lock() || mine.begin()) ...      // the member's host, for each single element
//   mine.settle();                                     // the same thread, now and then
//   if (its.given_up()) ...                            // a member that must be alone under the lock
//
// Why nothing is lost: only a member's own thread takes the state from `free` to `locked`, while it is at no element.
// So all its changes without the lock come before its store of `locked`, which releases, and all its later changes
// are under the lock. A thread that has read `locked` of every member, acquiring, and holds the lock, is alone. A
// member that has never been `free` can be shut out at once, by the same exchange on the same word by which it would
// have become so. No thread waits: until a member has settled, the requester changes elements one by one, as before.
// *Held by* tests/unit/elements/accumulate_test.cpp, tests/rma/atomicity.c.
//
// Threads: the member's host, which is one thread, calls may_skip_lock(), begin() and settle(). A member with several
// threads begins with shut_out().
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class SingleElements {
 public:
  bool may_skip_lock() const noexcept {
    return state_.load(std::memory_order_relaxed) == State::free;
  }
  // Permits the member to skip the lock from now on, unless another member has requested the lock before.
  bool begin() noexcept {
    State state = State::unused;
    return state_.compare_exchange_strong(state, State::free, std::memory_order_acquire);
  }
  // Gives up the atomics if another member has requested that. True: they have been given up, now or before.
  bool settle() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::requested)
      state_.store(State::locked, std::memory_order_release);
    return state_.load(std::memory_order_relaxed) == State::locked;
  }
  // Returns whether the member changes elements under the lock only, from now on. If not, requests that.
  bool given_up() noexcept {
    State state = state_.load(std::memory_order_acquire);
    const State next = state == State::unused ? State::locked : State::requested;
    if ((state == State::unused || state == State::free) &&
        state_.compare_exchange_strong(state, next, std::memory_order_acquire))
      state = next;
    return state == State::locked;
  }
  void shut_out() noexcept { state_.store(State::locked, std::memory_order_release); }

 private:
  enum class State : std::uint32_t { unused, free, requested, locked };

  std::atomic<State> state_{State::unused};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
