// SingleElements: whether one member of a window changes single elements by CPU atomics alone, or under the element
// lock.
//
// A CPU atomic is the fastest way to change one element, and a vector loop the fastest to change many; but the loop
// must not lose what an atomic does between its load and its store. So each member starts with the atomics, without the
// lock, and gives that up for ever when somebody asks for it who has many elements to change. The word lies where all
// can reach it who can reach the elements.
//
//   if (mine.may_skip_lock() || mine.begin()) ...      // the member's host, for each single element
//   mine.settle();                                     // the same thread, now and then
//   if (all of them: its.given_up()) ...               // who wants to be alone under the lock
//
// Why nothing is lost: a member's own thread alone takes the state from `free` to `locked`, when it is at no element.
// So all that it has done without the lock comes before its store of `locked`, which releases, and all that it does
// later is under the lock. Who has read `locked` of every member, acquiring, and holds the lock, is alone. A member
// that has never been `free` can be shut out at once, by the same exchange on the same word by which it would have
// become so. Nobody waits: until a member has settled, who asked changes elements one by one, as before.
// *Held by* tests/unit/elements/accumulate_test.cpp, tests/rma/atomicity.c.
//
// Threads: may_skip_lock(), begin() and settle() the member's host, which is one thread; a member with several begins
// with shut_out().
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class SingleElements {
 public:
  bool may_skip_lock() const noexcept {
    return state_.load(std::memory_order_relaxed) == State::free;
  }
  // For a member that may not yet: from now on it may, unless somebody has asked before.
  bool begin() noexcept {
    State state = State::unused;
    return state_.compare_exchange_strong(state, State::free, std::memory_order_acquire);
  }
  // Gives up what it has been asked for. True: that has been done, now or before.
  bool settle() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::asked)
      state_.store(State::locked, std::memory_order_release);
    return state_.load(std::memory_order_relaxed) == State::locked;
  }
  // Whether the member changes elements under the lock only, from now on. Else asks it to.
  bool given_up() noexcept {
    State state = state_.load(std::memory_order_acquire);
    const State next = state == State::unused ? State::locked : State::asked;
    if ((state == State::unused || state == State::free) &&
        state_.compare_exchange_strong(state, next, std::memory_order_acquire))
      state = next;
    return state == State::locked;
  }
  void shut_out() noexcept { state_.store(State::locked, std::memory_order_release); }

 private:
  enum class State : std::uint32_t { unused, free, asked, locked };

  std::atomic<State> state_{State::unused};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lfc
