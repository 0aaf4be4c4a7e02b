// HostQueue: the way of received messages from the control program to the host.
//
// direct: whoever drives the control program is the host, so a message is handed over at once and
//   its receive buffer is free on return. No copy, no queue.
// queued: the control program may run while the host does something else. A message is copied
//   into a buffer of the NI's and waits until the host drains; only then is its buffer released
//   and the sender's credit owed. Buffers in use never exceed the credits granted.
//
//   HostQueue queue(HostQueue::Mode::direct);
//   queue.set_handler({deliver, context});
//   bool released = queue.deliver(peer, peer_context, tag, payload);   // control program
//   queue.drain(64, [](PeerId peer) { release(peer); });               // host
//
// Threads: deliver() by the control program, drain() by the host; callers serialise within each.
#pragma once

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

struct MessageHandler {
  void (*deliver)(void* context, const Delivery& delivery) = nullptr;
  void* context = nullptr;
};

class HostQueue {
 public:
  enum class Mode : std::uint8_t { direct, queued };

  explicit HostQueue(Mode mode) noexcept : mode_(mode) {}
  void set_handler(MessageHandler handler) noexcept { handler_ = handler; }

  // True: the host has dealt with it. False: it waits; drain() will report its peer.
  bool deliver(const Delivery& delivery) {
    if (mode_ == Mode::queued) return enqueue(delivery), false;
    if (handler_.deliver != nullptr) handler_.deliver(handler_.context, delivery);
    return true;
  }
  // Hands up to `limit` waiting messages to the host; calls released(peer) after each.
  template <class Released>
  int drain(int limit, Released released) {
    int count = 0;
    Item item;
    while (count < limit && pop(item)) {
      handler_.deliver(handler_.context, {item.peer, item.peer_context, item.tag, item.bytes});
      released(item.peer);
      recycle(std::move(item));
      ++count;
    }
    return count;
  }
  Mode mode() const noexcept { return mode_; }
  std::size_t waiting() const;
  // Bytes of the buffers held, in use or spare.
  std::size_t memory() const;

 private:
  struct Item {
    PeerId peer = kNoPeer;
    void* peer_context = nullptr;
    std::uint8_t tag = 0;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t kSpares = 64;

  void enqueue(const Delivery& delivery);
  bool pop(Item& out);
  void recycle(Item item);

  const Mode mode_;
  MessageHandler handler_;
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::vector<Item> spares_;  // whose buffers the next messages reuse
  std::size_t memory_ = 0;
};

}  // namespace lfc
