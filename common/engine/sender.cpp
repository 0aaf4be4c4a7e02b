#include "engine/sender.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

// Null for an operation that makes frames.
WaitingFrame* frame_of(Waiting& item) noexcept {
  const bool is_frame = item.kind == Waiting::Kind::message || item.kind == Waiting::Kind::packet;
  return is_frame ? static_cast<WaitingFrame*>(&item) : nullptr;
}

}  // namespace

// --- Departure: every frame leaves by send_short() or transmit() ---

// `returned`: the credits that go with it, in `meta` or in the payload. `frees`: it also frees the receive buffer of
// the frame that it replies to.
SendStatus Sender::transmit(Peer& peer, Meta meta, const Slice* slices, int count,
                            std::uint32_t returned, bool frees) noexcept {
  if (fault(Fault::send_refused)) return SendStatus::again;
  SendStatus status = SendStatus::broken;
  if (peer.ring != nullptr) status = peer.ring->send(meta, slices, count);
  // If the ring is corrupt, the link must handle it.
  if (status == SendStatus::broken) status = peer.link->send(peer.id, meta, slices, count);
  if (status != SendStatus::sent) return status;
  if (frees) (void)peer.flow.release(peers_.budget(), counters_);
  departed(counters_, peer, meta.type, returned, total_size(slices, count));
  return status;
}

Sender::Attempt Sender::send(Peer& peer, FrameType type, std::uint8_t tag, const Slice* slices,
                             int count, bool more) noexcept {
  if (!peer.flow.may_depart(type)) return Attempt::no_credit;
  const std::uint32_t returned = peer.flow.returnable(type);
  const Meta meta{type, tag, static_cast<std::uint8_t>(returned), more};
  switch (transmit(peer, meta, slices, count, returned)) {
    case SendStatus::sent: peer.stall_counted = false; return Attempt::sent;
    case SendStatus::again: return Attempt::no_room;
    default: return Attempt::broken;
  }
}

// Sends a message that send_short() has refused.
bool Sender::send_long(Peer& peer, std::uint8_t tag, const Slice* slices, int count,
                       bool more) noexcept {
  if (peer.state != Peer::State::connected ||
      send(peer, FrameType::message, tag, slices, count, more) != Attempt::sent)
    return false;
  counters_.add(Counter::messages_sent);
  return true;
}

// --- Replies and credits ---

void Sender::reply(Peer& peer, Peer::ControlFrame frame, const void* payload) {
  if (!peers_.connect(peer)) return;
  std::memcpy(frame.payload.data(), payload, frame.size);
  if (peer.control.empty() && send_reply(peer, frame)) return;
  peer.control.push_back(frame);
  retry_later(peer);
}

void Sender::reply_and_release(Peer& peer, FrameType type, std::uint8_t tag, const void* payload,
                               std::size_t size) {
  reply(peer, {type, tag, static_cast<std::uint8_t>(size), true, {}}, payload);
  if (peer.flow.due()) return_credits(peer);
}

// The credit for the buffer goes with the reply and no earlier. With it the peer may cause the next reply, and
// replies would pile up behind a link without room. A peer that has closed the link waits for no reply, so that is no
// error.
bool Sender::send_reply(Peer& peer, const Peer::ControlFrame& frame) noexcept {
  const std::uint32_t returned = peer.flow.returnable(frame.type, frame.releases);
  const Slice slice{frame.payload.data(), frame.size};
  return transmit(peer, {frame.type, frame.tag, static_cast<std::uint8_t>(returned)}, &slice, 1,
                  returned, frame.releases) != SendStatus::again;
}

void Sender::return_credits(Peer& peer) noexcept {
  peer.credit_overdue = false;
  const CreditPayload payload{peer.flow.returnable(FrameType::credit)};
  if (payload.credits == 0 || !peers_.connect(peer)) return;
  // Not past replies that wait, because with the credits the peer may cause more of them.
  if (peer.control.empty()) {
    const Slice slice{&payload, sizeof payload};
    const SendStatus status = transmit(peer, {FrameType::credit, 0, 0}, &slice, 1, payload.credits);
    if (status == SendStatus::sent) counters_.add(Counter::explicit_credits);
    if (status != SendStatus::again) return;
  }
  peer.credit_overdue = true;
  retry_later(peer);
}

// --- Queues ---

void Sender::post(Peer& peer, WaitingQueue& queue, Waiting& item) {
  const bool was_empty = queue.empty();
  queue.push(item);
  if (!peers_.connect(peer)) {
    fail_waiting(queue);
  } else if (was_empty) {
    pump(peer);
  }
}

// Items that `done` posts join the pass that has called it, so a reply of many frames is no deep recursion.
void Sender::pump(Peer& peer) {
  if (std::exchange(peer.pumping, true)) {
    peer.pump_again = true;
    return;
  }
  do {
    peer.pump_again = false;
    pump_queues(peer);
  } while (peer.pump_again);
  peer.pumping = false;
}

void Sender::pump_queues(Peer& peer) {
  if (!pump_control(peer)) return;
  // Replies to gets alternate with the rest, but never wait for it. The head of `waiting` may need a credit that the
  // peer returns only after the reply to its own get.
  bool waits = false;
  const auto may_send = [&] { return !waits && !peer.waiting.empty(); };
  while (may_send() || !peer.services.empty()) {
    if (!peer.services.empty() && send_first(peer, peer.services) == Step::waits) return;
    if (may_send()) waits = send_first(peer, peer.waiting) == Step::waits;
  }
}

// False: a control frame still waits, because the link has no room at all. A send changes no queue (link/link.hpp), so
// the first frame keeps its place.
bool Sender::pump_control(Peer& peer) noexcept {
  while (!peer.control.empty()) {
    if (!send_reply(peer, peer.control.front())) {
      retry_later(peer);
      return false;
    }
    peer.control.pop_front();
  }
  if (peer.credit_overdue || peer.flow.due()) return_credits(peer);
  return !peer.credit_overdue;
}

Sender::Step Sender::send_first(Peer& peer, WaitingQueue& queue) {
  WaitingFrame* const frame = frame_of(*queue.front());
  if (frame == nullptr) return operations_.send(peer, *queue.front());
  const Attempt attempt = send_item(peer, *frame);
  if (attempt != Attempt::sent) return wait(peer, attempt);
  queue.pop();
  finish(*frame, Result::ok);
  return Step::finished;
}

Sender::Attempt Sender::send_item(Peer& peer, const WaitingFrame& item) noexcept {
  if (item.kind == Waiting::Kind::message) {
    const auto& message = static_cast<const Message&>(item);
    return send(peer, item.type, item.tag, message.slices.data(), message.slice_count);
  }
  std::array<Slice, 2> slices;
  const int count = static_cast<const WaitingPacket&>(item).slices(slices);
  return send(peer, item.type, item.tag, slices.data(), count);
}

void Sender::finish(WaitingFrame& item, Result result) {
  if (item.type == FrameType::message && result == Result::ok)
    counters_.add(Counter::messages_sent);
  if (item.kind == Waiting::Kind::message) {
    auto& message = static_cast<Message&>(item);
    message.result = result;
    outcomes_.add(message);
  } else if (packets_.end(static_cast<WaitingPacket&>(item), result)) {
    activity_.leave_over();
  }
}

bool Sender::send(Peer& peer, WaitingQueue& queue, Packet packet) {
  WaitingPacket& item = *packet.release();
  item.peer = peer.id;
  if (peer.state != Peer::State::connected || !queue.empty()) {
    post(peer, queue, item);
    return false;
  }
  const Attempt attempt = send_item(peer, item);
  if (attempt == Attempt::sent) {
    item.note = 0;
    finish(item, Result::ok);
    return true;
  }
  queue.push(item);
  wait(peer, attempt);
  return false;
}

void Sender::fail_waiting(WaitingQueue& queue) {
  while (Waiting* item = queue.pop()) {
    if (WaitingFrame* const frame = frame_of(*item)) {
      finish(*frame, Result::unreachable);
    } else {
      operations_.fail(*item);
    }
  }
}

void Sender::on_lost(Peer& peer) {
  peer.control.clear();
  fail_waiting(peer.services);
  fail_waiting(peer.waiting);
}

// A missing credit needs no retry: its arrival pumps the queue. The reason is counted once for each item.
Sender::Step Sender::wait(Peer& peer, Attempt attempt) noexcept {
  const bool retried = std::exchange(peer.stall_counted, true);
  switch (attempt) {
    case Attempt::no_credit:
      if (!retried) counters_.add(Counter::credit_stalls);
      break;
    case Attempt::broken:
      peers_.lose(peer, Peer::State::broken, "the peer has closed the link");
      break;
    default:
      if (!retried) counters_.add(Counter::link_stalls);
      retry_later(peer);
      break;
  }
  return Step::waits;
}

void Sender::retry_later(Peer& peer) noexcept {
  if (peer.to_retry) return;
  peer.to_retry = true;
  peer.next_to_retry = to_retry_;
  to_retry_ = &peer;
  activity_.leave_over();
}

void Sender::retry_all() {
  Peer* peer = std::exchange(to_retry_, nullptr);
  while (peer != nullptr) {
    Peer* next = peer->next_to_retry;
    peer->to_retry = false;
    if (peer->state == Peer::State::connected) pump(*peer);
    peer = next;
  }
}

}  // namespace lfc
