#include "engine/packets.hpp"

#include <utility>

namespace lfc {
namespace {

template <class Chosen>
void drop_from(WaitingQueue& queue, Chosen chosen) noexcept {
  WaitingQueue others;
  while (Waiting* item = queue.pop()) {
    if (item->kind == Waiting::Kind::packet && chosen(static_cast<WaitingPacket&>(*item))) {
      const Packet dropped(static_cast<WaitingPacket*>(item));
    } else {
      others.push(*item);
    }
  }
  queue = others;
}

}  // namespace

bool Packets::send(PeerId id, Packet packet, std::uint64_t note) {
  Peer& peer = peers_.at(id);
  WaitingPacket* const item = packet.release();
  item->note = note;
  WaitingQueue& queue = item->type == FrameType::service_data ? peer.services : peer.waiting;
  return sender_.send(peer, queue, Packet(item));
}

void Packets::drop(PeerId id, ServiceId service, std::uint64_t note) noexcept {
  Peer& peer = peers_.at(id);
  const auto chosen = [=](const WaitingPacket& packet) {
    return packet.tag == static_cast<std::uint8_t>(service) && packet.note == note &&
           packet.type != FrameType::message;
  };
  drop_from(peer.waiting, chosen);
  drop_from(peer.services, chosen);
  peer.stall_counted = false;
}

void Packets::drop_all(ServiceId service) noexcept {
  const auto chosen = [=](const WaitingPacket& packet) {
    return packet.tag == static_cast<std::uint8_t>(service) && packet.type != FrameType::message;
  };
  pool_.drop_left(chosen);
  for (PeerId id = 0; id < peers_.size(); ++id) {
    drop_from(peers_.at(id).waiting, chosen);
    drop_from(peers_.at(id).services, chosen);
  }
}

bool Packets::waits(PeerId id, ServiceId service, std::uint64_t note) const noexcept {
  const Peer& peer = peers_.at(id);
  for (const WaitingQueue* queue : {&peer.waiting, &peer.services})
    for (const Waiting* item = queue->front(); item != nullptr; item = item->next) {
      if (item->kind != Waiting::Kind::packet) continue;
      const auto& packet = static_cast<const WaitingPacket&>(*item);
      if (packet.tag == static_cast<std::uint8_t>(service) && packet.note == note &&
          packet.type != FrameType::message)
        return true;
    }
  return false;
}

SharedBytes Packets::keep(std::span<const std::byte> bytes) {
  FrameLender* const lender = from_ == nullptr ? nullptr : from_->traits().lender;
  if (lender != nullptr && !bytes.empty())
    if (SharedBytes lent = lender->lend(from_->id, bytes)) {
      counters_.add(Counter::frames_lent);
      return lent;
    }
  counters_.add(Counter::frames_copied);
  return pool_.bytes().copy(bytes);
}

}  // namespace lfc
