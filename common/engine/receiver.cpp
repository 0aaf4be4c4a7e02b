#include "engine/receiver.hpp"

#include <cstring>
#include <string>

#include "base/bytes.hpp"

namespace lfc {

// Enters a frame into the flow control: its credits, and its receive buffer. False: the frame breaks the protocol,
// or the peer was lost while frames were sent that its credits permit.
[[gnu::always_inline]] inline bool Receiver::arrived(Peer& peer, FrameType type,
                                                     std::uint32_t credits) {
  if (!peer.flow.arrived(type)) [[unlikely]]
    return false;
  return credits == 0 || (sender_.add_credits(peer, credits) && !peer.is_lost());
}

[[gnu::flatten]] void Receiver::on_frame(PeerId id, Meta meta, std::span<const std::byte> payload) {
  if (!peers_.has(id) || peers_.at(id).is_lost()) [[unlikely]] {
    counters_.add(Counter::frames_dropped);
    return;
  }
  Peer& peer = peers_.at(id);
  counters_.add(Counter::frames_received);
  counters_.add(Counter::bytes_received, payload.size());
  const bool valid = arrived(peer, meta.type, meta.credits);
  if (!valid && peer.is_lost()) [[unlikely]]
    return;
  if (!valid || !accept(peer, meta, payload)) [[unlikely]]
    refuse(peer, meta);
}

// --- Frames of services whose bytes are placed ---

std::byte* Receiver::place(PeerId id, Meta meta, const Placing& frame) {
  if (!peers_.has(id) || peers_.at(id).is_lost()) return nullptr;
  return services_.place(peers_.at(id), meta, frame);
}

void Receiver::on_placed(PeerId id, Meta meta, const Placing& frame) {
  if (!peers_.has(id) || peers_.at(id).is_lost()) return;
  Peer& peer = peers_.at(id);
  bool valid = true;
  if (frame.left == 0) {
    counters_.add(Counter::frames_received);
    counters_.add(Counter::bytes_received, frame.head.size() + frame.landed);
    valid = arrived(peer, meta.type, meta.credits);
    if (peer.is_lost()) return;
  }
  if (!valid || !services_.placed(peer, meta, frame)) refuse(peer, meta);
}

// A notification takes a receive buffer for the time of this call, as a frame of a service does.
void Receiver::on_notified(PeerId id, std::uint32_t value) {
  if (!peers_.has(id) || peers_.at(id).is_lost()) return;
  Peer& peer = peers_.at(id);
  if (!arrived(peer, FrameType::service, 0) || !services_.notified(peer, value))
    refuse(peer, {FrameType::service});
}

// The short path: messages for a host that is present. All other frames are left to on_frame().
[[gnu::flatten]] int Receiver::on_ring(PeerId id, RingReader& ring, int limit) {
  if (!peers_.has(id) || host_.queues()) [[unlikely]]
    return 0;
  Peer& peer = peers_.at(id);
  const MessageHandler host = host_.handler();
  int count = 0;
  std::size_t bytes = 0;
  RingFrame frame;
  while (count < limit && !peer.is_lost() && ring.peek_message(frame)) {
    const Meta meta = frame.meta();
    if (!arrived(peer, FrameType::message, meta.credits)) [[unlikely]]
      break;
    host.deliver(peer.context, meta.tag, frame.payload.data(), frame.payload.size(), id,
                 host.context);
    ring.pop();
    sender_.release(peer);
    bytes += frame.payload.size();
    ++count;
  }
  Counters& counters = counters_;
  counters.add(Counter::frames_received, static_cast<std::uint64_t>(count));
  counters.add(Counter::messages_received, static_cast<std::uint64_t>(count));
  counters.add(Counter::bytes_received, bytes);
  return count;
}

PeerId Receiver::on_connect(Link& link, const Address& from) { return peers_.admit(link, from); }

bool Receiver::on_unanswered(PeerId id, Link& link, std::string_view why) {
  return peers_.has(id) && peers_.turn_from(peers_.at(id), link, why);
}

void Receiver::on_broken(PeerId id, Link& link, std::string_view why) {
  if (peers_.has(id))
    peers_.lose(peers_.at(id), Peer::State::broken,
                std::string(link.name()) + ": " + std::string(why));
}

void Receiver::refuse(Peer& peer, Meta meta) {
  counters_.add(Counter::frames_dropped);
  peer.link->close(peer.id);
  peers_.lose(peer, Peer::State::broken, std::string("malformed frame: ") + to_string(meta.type));
}

// False: the frame breaks the protocol.
inline bool Receiver::accept(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  if (meta.type != FrameType::message) [[unlikely]]
    return accept_other(peer, meta, payload);
  counters_.add(Counter::messages_received);
  if (host_.deliver({peer.id, peer.context, meta.tag, payload})) sender_.release(peer);
  return true;
}

bool Receiver::accept_other(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  switch (meta.type) {
    case FrameType::credit: {
      if (payload.size() != sizeof(CreditPayload)) return false;
      return sender_.add_credits(peer, load_pod<CreditPayload>(payload.data()).credits);
    }
    case FrameType::put:
    case FrameType::get:
    case FrameType::get_data:
    case FrameType::atomic:
    case FrameType::put_ack:
    case FrameType::atomic_reply: return remote_.accept(peer, meta.type, payload);
    case FrameType::service:
    case FrameType::service_data:
    case FrameType::service_ack: return services_.accept(peer, meta, payload);
    default: return false;  // the frames of a link itself never reach the NI
  }
}

int Receiver::hand_over(int limit) noexcept {
  return host_.hand_over(limit, [this](PeerId id) {
    const SendLock::Guard guard(lock_);
    sender_.release(peers_.at(id));
  });
}

int Receiver::serve_host() noexcept {
  if (host_.empty() || handing_over_.test_and_set(std::memory_order_acquire)) return 0;
  const int events = hand_over(64);
  // Pairs with the acquire above: the next thread that hands over sees the work of this one.
  handing_over_.clear(std::memory_order_release);
  return events;
}

}  // namespace lfc
