// Waiting: items in a queue towards a peer. The queue is intrusive, so waiting allocates nothing.
//
//   Message message;                       // the host's, lent until done(); packets of services: engine/packet.hpp
//   message.slices[0] = {data, size};
//   message.done = [](Message* self, Result result) { ... };
//   queue.push(message);
//   while (Waiting* item = queue.front()) { ...; queue.pop(); }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "link/link.hpp"
#include "look/states.hpp"
#include "wire/frame.hpp"

namespace lfc {

struct Waiting {
  using Kind = look::WaitingKind;
  explicit Waiting(Kind kind_) noexcept : kind(kind_) {}
  Waiting* next = nullptr;
  Kind kind;
};

// WaitingFrame: a message or a packet (engine/packet.hpp).
struct WaitingFrame : Waiting {
  using Waiting::Waiting;
  FrameType type = FrameType::message;
  std::uint8_t tag = 0;
};

// A message of the host, owned by it, lent to the NI from post() until done().
struct Message : WaitingFrame {
  static constexpr int kMaxSlices = 2;
  Message() noexcept : WaitingFrame(Kind::message) {}
  void (*done)(Message* self, Result result) = nullptr;
  std::array<Slice, kMaxSlices> slices{};
  std::uint8_t slice_count = 0;
  Result result = Result::ok;  // written by the NI when the message is finished
};

// Work for the host that the control program has found (engine/host_call.hpp).
struct WaitingCall : Waiting {
  WaitingCall() noexcept : Waiting(Kind::call) {}
  void (*call)(WaitingCall* self) = nullptr;
  bool by_thread = false;  // the NI thread may do it as well
};

// FIFO of waiting items, each in at most one queue.
class WaitingQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  Waiting* front() const noexcept { return head_; }
  std::size_t size() const noexcept { return size_; }

  void push(Waiting& item) noexcept {
    item.next = nullptr;
    if (head_ == nullptr) {
      head_ = &item;
    } else {
      tail_->next = &item;
    }
    tail_ = &item;
    ++size_;
  }
  // Removes and returns the first item; null when empty.
  Waiting* pop() noexcept {
    Waiting* first = head_;
    if (first != nullptr) {
      head_ = first->next;
      --size_;
    }
    return first;
  }
  // Takes out an item of this queue, wherever it is. Looks from the front.
  void remove(Waiting& item) noexcept {
    if (head_ == &item) {
      pop();
      return;
    }
    Waiting* before = head_;
    while (before->next != &item) before = before->next;
    before->next = item.next;
    if (tail_ == &item) tail_ = before;
    --size_;
  }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Waiting* head_ = nullptr;
  Waiting* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lfc
