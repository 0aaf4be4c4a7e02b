// Published: a value that changes under a lock, and that its owner also reads without it. Stores
// before the change are visible to a thread that sees the change.
//
//   Published<State> state{State::none};
//   state = State::held;                     // under the lock
//   if (state == State::held) ...            // anywhere
//
// Cost: a plain store and load. Threads: any; writers exclude each other by the lock.
#pragma once

#include <atomic>

namespace lfc {

template <class T>
class Published {
 public:
  Published(T value) noexcept : value_(value) {}  // NOLINT: it stands for the value
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  // Pairs with the acquire below: the stores before this are visible to a reader of the value.
  Published& operator=(T value) noexcept {
    value_.store(value, std::memory_order_release);
    return *this;
  }
  operator T() const noexcept { return value_.load(std::memory_order_acquire); }  // NOLINT

 private:
  std::atomic<T> value_;
  static_assert(std::atomic<T>::is_always_lock_free);
};

}  // namespace lfc
