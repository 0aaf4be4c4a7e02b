// Sender: sends frames: at once if possible, otherwise from a queue of their peer, in order. It is the only
// place where frames depart, and where credits are returned to a peer.
//
//   if (!sender.try_message(peer, tag, slices, 2)) sender.post(peer, peer.waiting, message);
//   sender.reply(peer, FrameType::service_ack, tag, &ack, sizeof ack);     // never waits behind data
//   sender.release(peer);                       // the receive buffer of one of its frames is free
//   sender.retry_all();                         // in each pass that finds work left over
//
// Invariants: frames that wait for a peer leave in the order in which they were posted. Replies never wait for a
// credit. The credit for a frame that gets a reply goes with the reply, not before (tests/unit/engine/ni_test.cpp,
// tests/sim).
// Threads: under the NI's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/faults.hpp"
#include "engine/packet.hpp"
#include "engine/peer_table.hpp"

namespace lfc {

class Sender final : private PeerTable::Watcher {
 public:
  enum class Attempt : std::uint8_t { sent, no_credit, no_room, broken };
  enum class Step : std::uint8_t { finished, progressed, waits };

  // Sends operations and answers to gets, which wait in the same queues as messages.
  class Operations {
   public:
    // Sends the next frame of the first item of its queue; removes the item with its last frame.
    virtual Step send(Peer& peer, Waiting& item) = 0;
    // The peer is lost.
    virtual void fail(Waiting& item) = 0;

   protected:
    ~Operations() = default;
  };

  Sender(PeerTable& peers, Counters& counters, Activity& activity, Outcomes& outcomes,
         Operations& operations)
      : peers_(peers),
        counters_(counters),
        activity_(activity),
        outcomes_(outcomes),
        operations_(operations) {
    peers.add_watcher(*this);
  }

  // Sends a message of the host now, or does nothing and returns false.
  [[gnu::always_inline]] bool try_message(Peer& peer, std::uint8_t tag, const Slice* slices,
                                          int count) noexcept {
    return peer.waiting.empty() &&
           (send_short(peer, tag, slices, count) || send_long(peer, tag, slices, count));
  }
  // Sends one data frame now or not at all, past all frames that wait.
  Attempt send(Peer& peer, FrameType type, std::uint8_t tag, const Slice* slices, int count,
               bool more = false) noexcept;
  // try_message() of a message that the next frame follows at once (Meta::more).
  bool try_message_with_more(Peer& peer, std::uint8_t tag, const Slice* slices,
                             int count) noexcept {
    return peer.waiting.empty() && send_long(peer, tag, slices, count, true);
  }
  // Puts an item into one of the peer's queues, and sends what can be sent.
  void post(Peer& peer, WaitingQueue& queue, Waiting& item);
  // Sends a packet after the items of the queue. True: it has left. False: it waits, and then ends in packets().
  bool send(Peer& peer, WaitingQueue& queue, Packet packet);
  PacketPool& packets() noexcept { return packets_; }
  const PacketPool& packets() const noexcept { return packets_; }
  // Sends a control frame, at once if possible; it never waits behind data.
  void reply(Peer& peer, FrameType type, std::uint8_t tag, const void* payload, std::size_t size) {
    reply(peer, {type, tag, static_cast<std::uint8_t>(size), false, {}}, payload);
  }
  // Does so and frees the receive buffer of the frame that it replies to.
  void reply_and_release(Peer& peer, FrameType type, std::uint8_t tag, const void* payload,
                         std::size_t size);
  // Records why the first item of a queue cannot be sent, and arranges for its retry.
  Step wait(Peer& peer, Attempt attempt) noexcept;
  void retry_all();

  // Frees the receive buffer of a frame.
  void release(Peer& peer) noexcept {
    if (peer.flow.release(peers_.budget(), counters_)) [[unlikely]]
      return_credits(peer);
  }
  // Adds credits that have arrived. False: more than any window has.
  bool add_credits(Peer& peer, std::uint32_t count) {
    if (!peer.flow.credited(count)) return false;
    if (!peer.waiting.empty()) pump(peer);
    return true;
  }

 private:
  void on_lost(Peer& peer) override;

  bool send_short(Peer& peer, std::uint8_t tag, const Slice* slices, int count) noexcept;
  [[gnu::noinline]] bool send_long(Peer& peer, std::uint8_t tag, const Slice* slices, int count,
                                   bool more = false) noexcept;
  SendStatus transmit(Peer& peer, Meta meta, const Slice* slices, int count, std::uint32_t returned,
                      bool frees = false) noexcept;
  static void departed(Counters& counters, Peer& peer, FrameType type, std::uint32_t returned,
                       std::size_t bytes) noexcept;

  void reply(Peer& peer, Peer::ControlFrame frame, const void* payload);
  bool send_reply(Peer& peer, const Peer::ControlFrame& frame) noexcept;
  [[gnu::noinline]] void return_credits(Peer& peer) noexcept;
  [[gnu::noinline]] void pump(Peer& peer);
  void pump_queues(Peer& peer);
  bool pump_control(Peer& peer) noexcept;
  Step send_first(Peer& peer, WaitingQueue& queue);
  Attempt send_item(Peer& peer, const WaitingFrame& item) noexcept;
  void finish(WaitingFrame& item, Result result);
  void fail_waiting(WaitingQueue& queue);
  void retry_later(Peer& peer) noexcept;

  PeerTable& peers_;
  Counters& counters_;
  Activity& activity_;
  Outcomes& outcomes_;
  Operations& operations_;
  Peer* to_retry_ = nullptr;
  PacketPool packets_;
};

// Sends a short message through the peer's ring, if nothing stands in its way. It makes no call, so it can be inlined
// where messages are sent. False: nothing was done.
[[gnu::always_inline]] inline bool Sender::send_short(Peer& peer, std::uint8_t tag,
                                                      const Slice* slices, int count) noexcept {
  constexpr FrameType kType = FrameType::message;
  if (peer.ring == nullptr || !peer.flow.may_depart(kType) || count != 2) [[unlikely]]
    return false;
  if (fault(Fault::send_refused)) return false;
  const std::uint32_t returned = peer.flow.returnable(kType);
  const std::size_t bytes = slices[0].size + slices[1].size;
  if (!peer.ring->send_short({kType, tag, static_cast<std::uint8_t>(returned)}, slices[0],
                             slices[1])) [[unlikely]]
    return false;
  Counters& counters = counters_;
  departed(counters, peer, kType, returned, bytes);
  counters.add(Counter::messages_sent);
  return true;
}

[[gnu::always_inline]] inline void Sender::departed(Counters& counters, Peer& peer, FrameType type,
                                                    std::uint32_t returned,
                                                    std::size_t bytes) noexcept {
  peer.flow.departed(type, returned);
  counters.add(Counter::frames_sent);
  counters.add(Counter::bytes_sent, bytes);
}

}  // namespace lfc
