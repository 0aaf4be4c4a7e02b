// LazyQueue: first-in, first-out queue that allocates nothing until its first item. Empty, it takes 24 bytes; an empty
// std::deque takes 672.
//
//   LazyQueue<Peer::ControlFrame> frames;
//   frames.push_back(frame);
//   while (!frames.empty() && send(frames.front())) frames.pop_front();
//
// It keeps its room when it becomes empty, until clear(). Items move when the room grows: push_back() ends references.
// Threads: the caller serialises. Tests: tests/unit/base/lazy_queue_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace lfc {

template <class T>
class LazyQueue {
 public:
  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }
  T& front() noexcept { return items_[first_]; }
  T& back() noexcept { return items_[place(count_ - 1)]; }

  void push_back(T item) {
    if (count_ == room_) grow();
    items_[place(count_)] = std::move(item);
    ++count_;
  }
  void pop_front() {
    items_[first_] = T{};  // frees what the item owns
    first_ = place(1);
    --count_;
  }
  // Calls visit(item) for each, the first one first.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < count_; ++i) visit(std::as_const(items_[place(i)]));
  }
  // Frees the room as well.
  void clear() noexcept {
    items_.reset();
    room_ = first_ = count_ = 0;
  }

 private:
  // Returns where the item is that has `behind` others before it. The room is a power of two.
  std::uint32_t place(std::uint32_t behind) const noexcept {
    return (first_ + behind) & (room_ - 1);
  }
  [[gnu::noinline]] void grow() {  // off the short path of push_back()'s callers
    if (room_ > std::numeric_limits<std::uint32_t>::max() / 2) throw std::bad_alloc();
    const std::uint32_t room = room_ == 0 ? 4 : room_ * 2;
    auto items = std::make_unique<T[]>(room);
    for (std::uint32_t i = 0; i < count_; ++i) items[i] = std::move(items_[place(i)]);
    items_ = std::move(items);
    room_ = room;
    first_ = 0;
  }

  std::unique_ptr<T[]> items_;
  std::uint32_t room_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace lfc
