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
  Packet frame = port_.packets().make(id_);  // before any change, because it may throw
  MulticastSend* send = free_sends_;
  if (send != nullptr) {
    free_sends_ = send->next_free;
  } else {
    send = sends_.emplace_back(std::make_unique<MulticastSend>()).get();
    send->number = static_cast<std::uint32_t>(sends_.size() - 1);
  }
  send->packet = &packet;
  send->peer = peer;
  static_assert(sizeof packet.header <= Packet::kHead);
  frame.set_head(&packet.header, sizeof packet.header);
  if (packet.body)
    frame.share(packet.body);
  else
    frame.lend({packet.data, packet.size});
  ++packet.unsent;
  if (recovers(packet.header)) rescue_->wait(*send);
  if (port_.packets().send(peer, std::move(frame), note_of(*send))) sent(*send);
  if (options_.recovery == Suspicion::immediate) rescue_->start();
}

void Departures::send(PeerId peer, const MulticastHeader& header,
                      std::span<const std::byte> bytes) {
  if (try_send(peer, header, bytes)) return;
  MulticastPacket& packet = packets_.make(kNoPeer, header, port_.packets().bytes().copy(bytes));
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
