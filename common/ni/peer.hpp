// Peer: what the NI knows of one other process: the state of both directions of one pair.
//
// The first cache line is what a send touches. Items that cannot be sent yet wait in `waiting`,
// FIFO: messages, remote operations carried in frames, and the answers to a peer's gets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "link/link.hpp"
#include "protocol/credits.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

// Something that waits its turn to a peer; intrusive, owned as its kind says.
struct Waiting {
  enum class Kind : std::uint8_t { message, operation, service };
  Waiting* next = nullptr;
  Kind kind = Kind::message;
};

// A host message: owned by the host, lent to the NI from post() until done().
struct Message : Waiting {
  static constexpr int kMaxSlices = 2;
  void (*done)(Message* self, Result result) = nullptr;
  std::array<Slice, kMaxSlices> slices{};
  std::uint8_t slice_count = 0;
  std::uint8_t tag = 0;
  Result result = Result::ok;  // the NI's
};

// Intrusive FIFO of waiting items.
class WaitingQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  Waiting* front() const noexcept { return head_; }
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
  void pop() noexcept {
    head_ = head_->next;
    --size_;
  }
  std::size_t size() const noexcept { return size_; }

 private:
  Waiting* head_ = nullptr;
  Waiting* tail_ = nullptr;
  std::size_t size_ = 0;
};

// Items that are done and whose callbacks run once the lock is dropped.
using FinishedList = WaitingQueue;

struct Peer {
  enum class State : std::uint8_t { known, connected, broken, removed };

  Peer(PeerId id_, const Address& address_) : id(id_), address(address_) {}

  PeerId id;
  State state = State::known;
  bool stalled = false;         // in the NI's list of peers with something waiting
  bool credit_overdue = false;  // an explicit credit frame found no room
  std::uint8_t link_index = 0;
  Link* link = nullptr;
  SendCredits credits;
  ReceiveWindow window;
  void* context = nullptr;
  WaitingQueue waiting;
  std::size_t outstanding = 0;  // remote operations of ours, not finished
  Peer* next_stalled = nullptr;

  struct ControlFrame {
    FrameType type;
    std::uint8_t size;
    std::array<std::byte, 32> payload;
  };
  std::deque<ControlFrame> control;  // refused by the link; at most one per data frame received
  Address address;
};

}  // namespace lfc
