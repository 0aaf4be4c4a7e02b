// HostQueue: the queue of received messages between the control program and the host.
//
// direct: the thread that drives the control program is the host's, so a message is handed over at once and
//   its receive buffer is free on return. No copy, no queue.
// queued: the control program may run while the host does something else. A message is copied
//   into a buffer of the NI's and waits until the host takes it. Only then is its receive buffer released
//   and the sender's credit owed. Buffers in use never exceed the credits granted.
//
// While the host is known to be away (set_away), `direct` queues as well. A message then releases its receive buffer as
// soon as it is copied, as long as waiting messages take no more than `limit` bytes of memory. So senders to a
// host that computes are not stalled before that. Messages beyond the limit keep their senders' credits.
//
//   HostQueue queue(HostQueue::Mode::direct, 16 << 20);
//   queue.set_handler(handler_of<deliver>(context));     // void deliver(void*, const Delivery&)
//   bool released = queue.deliver({peer, peer_context, tag, payload});   // control program
//   queue.hand_over(64, [](PeerId peer) { release(peer); });               // host
//
// Order: with `direct` the host takes all until empty() before it lets the control program deliver.
// Threads: deliver() and set_away() by the control program, hand_over() by the host; callers serialise
// within each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "wire/frame.hpp"

namespace lfc {

// A message as the host sees it. The bytes are valid during the call only.
struct Delivery {
  PeerId peer;
  void* peer_context;  // set_peer_context() of the sender, null before that
  std::uint8_t tag;
  std::span<const std::byte> bytes;
};

// The function that is called for each message. All its arguments are in registers, and the host's own come first, so a
// function that passes them on has nothing to move.
struct MessageHandler {
  using Deliver = void(void* peer_context, std::uint8_t tag, const std::byte* bytes,
                       std::size_t size, PeerId peer, void* context);
  Deliver* deliver = [](void*, std::uint8_t, const std::byte*, std::size_t, PeerId, void*) {};
  void* context = nullptr;

  void operator()(const Delivery& message) const {
    deliver(message.peer_context, message.tag, message.bytes.data(), message.bytes.size(),
            message.peer, context);
  }
};

// A handler made from a function with one argument for the message.
template <void (*deliver)(void* context, const Delivery& delivery)>
MessageHandler handler_of(void* context) noexcept {
  return {[](void* peer_context, std::uint8_t tag, const std::byte* bytes, std::size_t size,
             PeerId peer, void* to) {
            deliver(to, {peer, peer_context, tag, {bytes, size}});
          },
          context};
}

class HostQueue {
 public:
  enum class Mode : std::uint8_t { direct, queued };

  explicit HostQueue(Mode mode, std::size_t limit = 0) noexcept : mode_(mode), limit_(limit) {}
  void set_handler(MessageHandler handler) noexcept { handler_ = handler; }

  // True: the receive buffer is free. False: the message waits with it; hand_over() will report its peer.
  bool deliver(const Delivery& delivery) {
    if (queues()) [[unlikely]]
      return enqueue(delivery);
    handler_(delivery);
    return true;
  }
  // Whether the host is away, so that messages have to wait for it.
  void set_away(bool away) noexcept { away_ = away; }
  // Whether messages have to wait now.
  bool queues() const noexcept { return mode_ == Mode::queued || away_; }
  const MessageHandler& handler() const noexcept { return handler_; }
  // A hint for other threads; exact for the thread that hands over while none delivers.
  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  // Hands up to `limit` waiting messages to the host; calls released(peer) after each whose receive
  // buffer was still held.
  template <class Released>
  int hand_over(int limit, Released released) {
    int count = 0;
    Item item;
    while (count < limit && pop(item)) {
      handler_({item.peer, item.peer_context, item.tag, item.bytes});
      if (item.holds_buffer) released(item.peer);
      recycle(std::move(item));
      ++count;
    }
    return count;
  }
  Mode mode() const noexcept { return mode_; }
  std::size_t waiting() const;
  // Bytes of all items, in use or spare.
  std::size_t memory() const;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  struct Item {
    PeerId peer = kNoPeer;
    void* peer_context = nullptr;
    std::uint8_t tag = 0;
    bool holds_buffer = true;
    std::vector<std::byte> bytes;
    // Bytes of memory that the item takes, with the overhead of an allocation.
    std::size_t cost() const noexcept {
      return sizeof(Item) + (bytes.capacity() == 0 ? 0 : bytes.capacity() + 2 * sizeof(void*));
    }
  };

  bool enqueue(const Delivery& delivery);
  bool pop(Item& out);
  void recycle(Item item);

  const Mode mode_;
  const std::size_t limit_;
  bool away_ = false;
  MessageHandler handler_;
  std::atomic<std::size_t> count_{0};  // of items_
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::vector<Item> spares_;  // their buffers are reused by the next messages
  std::size_t memory_ = 0;
  std::size_t waiting_memory_ = 0;  // the part of it that waiting items take
};

}  // namespace lfc
