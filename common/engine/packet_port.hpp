// PacketPort: packets of services: made, sent, and kept when they arrive. ServicePort::packets() returns the engine's.
//
//   Packet packet = port.packets().make(ServiceId::test, 64);        // a frame with a body of 64 bytes
//   port.packets().send(peer, std::move(packet));                    // now, or when there is a credit
//
//   SharedBytes kept = port.packets().keep(payload);                 // in on_frame(): they outlive the call
//
// Needs ServicePort::Access. Source: LFC thesis 3.2.1: a packet has one owner at a time, and a receiver may keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/packet.hpp"
#include "engine/service.hpp"

namespace lfc {

class PacketPort {
 public:
  // Returns a packet with memory for a body. `type`: `service`, which takes a credit, or `service_data`. Throws
  // std::bad_alloc.
  Packet make(ServiceId id, std::size_t body = 0, FrameType type = FrameType::service) {
    return pool_.take(type, static_cast<std::uint8_t>(id), body);
  }
  // Returns a packet that is a message to the host of the peer. Throws std::bad_alloc.
  Packet make_message(std::uint8_t tag, std::size_t body = 0) {
    return pool_.take(FrameType::message, tag, body);
  }
  // Sends it now, or after the others that wait for the peer. True: it has left. False: it waits. If `note` is not 0,
  // Service::on_left() follows then in a pass, unless drop() or attach() comes before.
  virtual bool send(PeerId peer, Packet packet, std::uint64_t note = 0) = 0;
  // Drops the packets to the peer that wait and have this note. Looks through the queue.
  virtual void drop(PeerId peer, ServiceId id, std::uint64_t note) noexcept = 0;
  // Whether such a packet waits. Looks through the queue.
  virtual bool waits(PeerId peer, ServiceId id, std::uint64_t note) const noexcept = 0;

  // Returns an owner of these bytes of the frame that on_frame() handles now: of the link's buffer if the link lends
  // it, else of a copy. Throws std::bad_alloc.
  virtual SharedBytes keep(std::span<const std::byte> bytes) = 0;
  // Memory for the bytes of packets.
  BytesPool& bytes() noexcept { return pool_.bytes(); }

 protected:
  explicit PacketPort(PacketPool& pool) noexcept : pool_(pool) {}
  ~PacketPort() = default;

  PacketPool& pool_;
};

}  // namespace lfc
