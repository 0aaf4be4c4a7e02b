#include "services/multicast/departures.hpp"

#include <utility>

#include "services/multicast/rescue.hpp"

namespace lfc {

Departures::Departures(ServicePort& port, ServiceId id, const MulticastOptions& options,
                       MulticastPackets& packets, MulticastStats& stats)
    : port_(port), id_(id), options_(options), packets_(packets), stats_(stats) {
  if (options.recovery != Suspicion::never)
    rescue_ = std::make_unique<Rescue>(*this, port, id, options);
}

Departures::~Departures() = default;

// --- Sends ---

void Departures::link(PeerId peer) {
  if (peer >= linked_.size()) linked_.resize(std::size_t{peer} + 1);
  linked_[peer] = true;
  port_.counters().add(Counter::multicast_links);
}

void Departures::post(MulticastPacket& packet, PeerId peer) {
  ++stats_.blocked;
  MulticastSend* send = free_sends_;
  if (send != nullptr) {
    free_sends_ = send->next_free;
  } else {
    send = sends_.emplace_back(std::make_unique<MulticastSend>()).get();
    send->owner = this;
  }
  send->packet = &packet;
  send->peer = peer;
  send->type = FrameType::service;
  send->tag = static_cast<std::uint8_t>(id_);
  send->slices = {{{&packet.header, sizeof packet.header}, {packet.data, packet.size}}};
  send->slice_count = packet.size == 0 ? 1 : 2;
  send->done = [](Message* message, Result) {
    auto& it = *static_cast<MulticastSend*>(message);
    it.owner->sent(it);
  };
  ++packet.unsent;
  if (recovers(packet.header)) rescue_->wait(*send);
  port_.post(peer, *send);
  if (options_.recovery == Suspicion::immediate) rescue_->start();
}

void Departures::send(PeerId peer, const MulticastHeader& header,
                      std::span<const std::byte> bytes) {
  if (try_send(peer, header, bytes)) return;
  MulticastPacket& packet = packets_.copy(kNoPeer, header, bytes);
  packet.unsent = 1;  // this function
  post(packet, peer);
  --packet.unsent;
  settle(packet);
}

void Departures::sent(MulticastSend& send) {
  MulticastPacket& packet = *std::exchange(send.packet, nullptr);
  if (send.blocked) rescue_->went(send);
  send.next_free = free_sends_;
  free_sends_ = &send;
  --packet.unsent;
  settle(packet);
}

void Departures::withdraw() {
  for (const auto& send : sends_) {
    if (send->packet == nullptr) continue;
    port_.withdraw(send->peer, *send);
    if (--send->packet->unsent == 0 && !send->packet->kept) delete send->packet;
  }
}

// --- Buffers and memory of packets ---

void Departures::settle(MulticastPacket& packet) {
  if (packet.unsent != 0) return;
  if (packet.in_backlog) rescue_->leave_backlog(packet);
  if (packet.origin_unsent != nullptr)
    std::exchange(packet.origin_unsent, nullptr)->fetch_sub(1, std::memory_order_release);
  if (packet.kept) {
    store(packet);
  } else {
    give_back(packet);
    packets_.dispose(packet);
  }
}

void Departures::store(MulticastPacket& packet) {
  if (packets_.count(packet)) give_back(packet);
}

void Departures::give_back(MulticastPacket& packet) {
  if (std::exchange(packet.holds_credit, false)) give_back(packet.from, packet.header);
}

void Departures::give_back(PeerId from, const MulticastHeader& header) {
  if (!recovers(header) || !rescue_->release(header)) port_.release(from);
}

}  // namespace lfc
