// The NI's part in services: frames to them and from them.
#include <bit>
#include <cstring>
#include <utility>

#include "engine/ni.hpp"

namespace lfc {

void Ni::attach(ServiceId id, Service* service) noexcept {
  const SendLock::Guard guard(lock_);
  services_[service_index(id)] = service;
  services_awake_ &= ~(1u << service_index(id));
}

PeerId Ni::find_peer(ProcessName name) noexcept {
  const auto known = by_name_.find(name.packed());
  return known == by_name_.end() ? kNoPeer : known->second;
}

bool Ni::service_try_send(PeerId id, ServiceId service, const Slice* slices, int count) noexcept {
  Peer& peer = at(id);
  return peer.state == Peer::State::connected && peer.waiting.empty() &&
         send_data(peer, FrameType::service, static_cast<std::uint8_t>(service), slices, count) ==
             Attempt::sent;
}

void Ni::service_post(PeerId id, Message& message) {
  Peer& peer = at(id);
  const bool answer = message.type == FrameType::service_data;
  enqueue(peer, answer ? peer.services : peer.waiting, message);
}

bool Ni::service_try_send_data(PeerId id, ServiceId service, const Slice* slices,
                               int count) noexcept {
  Peer& peer = at(id);
  return peer.state == Peer::State::connected &&
         send_data(peer, FrameType::service_data, static_cast<std::uint8_t>(service), slices,
                   count) == Attempt::sent;
}

void Ni::service_withdraw(PeerId id, Message& message) noexcept {
  Peer& peer = at(id);
  if (peer.waiting.front() == &message) peer.stall_counted = false;
  peer.waiting.remove(message);
}

void Ni::service_control(PeerId id, ServiceId service, const void* payload, std::size_t size) {
  if (is_lost(at(id))) return;
  answer(at(id), FrameType::service_ack, static_cast<std::uint8_t>(service), payload, size);
}

bool Ni::service_has_credit(PeerId id) const noexcept {
  const Peer& peer = at(id);
  return peer.state != Peer::State::connected || peer.flow.may_depart(FrameType::service);
}

void Ni::service_release(PeerId id) { release_buffer(at(id)); }

void Ni::service_ack(PeerId id, ServiceId service, const void* payload, std::size_t size) {
  if (is_lost(at(id))) return;
  release_with_answer(at(id), FrameType::service_ack, static_cast<std::uint8_t>(service), payload,
                      size);
}

// False when there can be no such service, or it says that the frame is malformed.
bool Ni::accept_service(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  if (meta.tag >= kServices) return false;
  if (services_[meta.tag] == nullptr) {
    // It has ended here; what was on its way, nobody waits for.
    counters_.add(Counter::frames_dropped);
    if (needs_credit(meta.type)) release_buffer(peer);
    return true;
  }
  switch (services_[meta.tag]->on_frame(peer.id, meta.type, payload)) {
    case Service::Verdict::malformed: return false;
    case Service::Verdict::release:
      if (needs_credit(meta.type)) release_buffer(peer);
      return true;
    case Service::Verdict::hold: break;
  }
  return true;
}

void Ni::run_services() {
  std::uint32_t awake = std::exchange(services_awake_, 0u);
  for (; awake != 0; awake &= awake - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(awake));
    if (services_[index] != nullptr && services_[index]->work()) services_awake_ |= 1u << index;
  }
}

}  // namespace lfc
