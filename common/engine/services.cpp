#include "engine/services.hpp"

#include <bit>
#include <utility>

namespace lfc {

void Services::attach(ServiceId id, Service* service) noexcept {
  const SendLock::Guard guard(lock_);
  services_[service_index(id)] = service;
  if (service == nullptr) packets_.drop_all(id);
  awake_ &= ~(1u << service_index(id));
}

bool Services::try_send(PeerId id, ServiceId service, const Slice* slices, int count,
                        bool more) noexcept {
  Peer& peer = peers_.at(id);
  return peer.state == Peer::State::connected && peer.waiting.empty() &&
         sender_.send(peer, FrameType::service, static_cast<std::uint8_t>(service), slices, count,
                      more) == Sender::Attempt::sent;
}

bool Services::try_send_data(PeerId id, ServiceId service, const Slice* slices,
                             int count) noexcept {
  Peer& peer = peers_.at(id);
  return peer.state == Peer::State::connected &&
         sender_.send(peer, FrameType::service_data, static_cast<std::uint8_t>(service), slices,
                      count) == Sender::Attempt::sent;
}

void Services::control(PeerId id, ServiceId service, const void* payload, std::size_t size) {
  if (peers_.at(id).is_lost()) return;
  sender_.reply(peers_.at(id), FrameType::service_ack, static_cast<std::uint8_t>(service), payload,
                size);
}

bool Services::has_credit(PeerId id) const noexcept {
  const Peer& peer = peers_.at(id);
  return peer.state != Peer::State::connected || peer.flow.may_depart(FrameType::service);
}

void Services::ack(PeerId id, ServiceId service, const void* payload, std::size_t size) {
  if (peers_.at(id).is_lost()) return;
  sender_.reply_and_release(peers_.at(id), FrameType::service_ack,
                            static_cast<std::uint8_t>(service), payload, size);
}

void Services::report_failure(ProcessName name, std::string_view why) {
  const PeerId id = peers_.find(name);
  if (id == kNoPeer) return;
  Peer& peer = peers_.at(id);
  if (peer.state == Peer::State::known && !peer.admitted)
    peers_.lose(peer, Peer::State::broken, why);
}

bool Services::accept(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  if (meta.tag >= kServices) return false;
  Service::Verdict verdict = Service::Verdict::release;
  if (Service* service = services_[meta.tag]; service != nullptr) {
    packets_.begin_frame(peer);
    verdict = service->on_frame(peer.id, meta.type, payload);
    packets_.end_frame();
  } else {
    // The service has ended here, so no rank waits for frames that were under way.
    counters_.add(Counter::frames_dropped);
  }
  if (verdict == Service::Verdict::release && needs_credit(meta.type)) sender_.release(peer);
  return verdict != Service::Verdict::malformed;
}

std::byte* Services::place(const Peer& peer, Meta meta, const Placing& frame) {
  Service* service = meta.tag < kServices ? services_[meta.tag] : nullptr;
  return service == nullptr ? nullptr : service->place(peer.id, frame);
}

// False: the service reports the frame as malformed.
bool Services::placed(Peer& peer, Meta meta, const Placing& frame) {
  Service* service = services_[meta.tag];
  const Service::Verdict verdict =
      service == nullptr ? Service::Verdict::release : service->on_placed(peer.id, frame);
  if (frame.left == 0 && verdict == Service::Verdict::release) sender_.release(peer);
  return verdict != Service::Verdict::malformed;
}

bool Services::notified(Peer& peer, std::uint32_t word) {
  const std::uint32_t id = word >> kNotificationBits;
  if (id >= kServices) return false;
  Service* const service = services_[id];
  const Service::Verdict verdict = service == nullptr
                                       ? Service::Verdict::release
                                       : service->on_notified(peer.id, word & kNotificationMask);
  if (verdict == Service::Verdict::malformed) return false;
  sender_.release(peer);
  return true;
}

void Services::run() {
  report_packets_and_losses();
  std::uint32_t awake = std::exchange(awake_, 0u);
  for (; awake != 0; awake &= awake - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(awake));
    if (services_[index] != nullptr && services_[index]->work()) awake_ |= 1u << index;
  }
  if (awake_ != 0) activity_.leave_over();
}

// This may be inside a call of a service that sends, whose state must not change then.
void Services::on_lost(Peer& peer) {
  lost_.push_back(peer.id);
  activity_.note_use();
  activity_.leave_over();
}

// A service that handles a packet or a loss may send, and so find the next loss. The packets that end by a loss come
// before it.
void Services::report_packets_and_losses() {
  do {
    const std::vector<PeerId> lost = std::exchange(lost_, {});
    WaitingQueue left = packets_.take_left();
    while (Waiting* item = left.pop()) {
      auto* const ended = static_cast<WaitingPacket*>(item);
      const Packet owner(ended);
      if (Service* service = services_[ended->tag]; service != nullptr)
        service->on_left(ended->peer, ended->note, ended->result);
    }
    for (const PeerId peer : lost)
      for (Service* service : services_)
        if (service != nullptr) service->on_lost(peer);
  } while (!lost_.empty());
}

}  // namespace lfc
