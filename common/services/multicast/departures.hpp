// Departures: the part of Multicast that sends: to a child at once if it has a credit, else when it has one; and what a
// packet that waits keeps until then, its receive buffer and its memory.
//
//   Departures departures(port, ServiceId::multicast, options, packets);
//   if (!departures.try_send(peer, header, bytes)) departures.post(packet, peer);   // ++packet.unsent
//   departures.settle(packet);                // after each change: gives back what it no longer needs
//
// Invariants: a packet's receive buffer is given back exactly once, when all children have been sent to, whether it is
// kept or not (tests/unit/services/multicast/port_test.cpp); what waits when Multicast ends is never sent
// (multicast_test.cpp, "what waits for credits ends with its service").
// Threads: as Multicast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/service_port.hpp"
#include "services/multicast/protocol/packets.hpp"

namespace lfc {

class Departures;
class Rescue;  // services/multicast/rescue.hpp

// One child that a packet waits for.
struct MulticastSend : Message {
  Departures* owner = nullptr;
  MulticastPacket* packet = nullptr;  // while it waits
  MulticastSend* next_free = nullptr;
  PeerId peer = kNoPeer;
  bool blocked = false;  // it is in the peer's list of blocked sends
  MulticastSend* next_blocked = nullptr;
  MulticastSend* previous_blocked = nullptr;
};

class Departures {
 public:
  // All of them outlive it.
  Departures(ServicePort& port, ServiceId id, const MulticastOptions& options,
             MulticastPackets& packets, MulticastStats& stats);
  ~Departures();

  // At once, or not at all: false.
  bool try_send(PeerId peer, const MulticastHeader& header, std::span<const std::byte> bytes) {
    if (peer == kNoPeer) return true;  // lost() has been or will be said
    if (peer >= linked_.size() || !linked_[peer]) link(peer);
    const std::array<Slice, 2> slices{{{&header, sizeof header}, {bytes.data(), bytes.size()}}};
    return port_.try_send(peer, id_, slices.data(), bytes.empty() ? 1 : 2);
  }
  // The packet waits for a credit, or room, towards this peer.
  void post(MulticastPacket& packet, PeerId peer);
  // One or the other; the bytes are copied if they have to wait.
  void send(PeerId peer, const MulticastHeader& header, std::span<const std::byte> bytes);
  // A send that waited has gone, or never will.
  void sent(MulticastSend& send);
  // What waits will not be sent; a packet goes with the last of its sends.
  void withdraw();

  // Gives back what the packet no longer needs: the receive buffer, then the packet itself.
  void settle(MulticastPacket& packet);
  // The packet stays, and keeps no receive buffer for it, however long it stays.
  void store(MulticastPacket& packet);
  // The receive buffer of a packet is free: the tree parent gets its credit, or an escape buffer its buffer.
  void give_back(PeerId from, const MulticastHeader& header);

  // Whether packets of the tree may wait in a circle, and Rescue sees to it that they do not for ever.
  bool recovers(const MulticastHeader& header) const noexcept {
    return rescue_ != nullptr && header.kind == MulticastHeader::Kind::tree &&
           can_deadlock(header.shape);
  }
  Rescue* rescue() const noexcept { return rescue_.get(); }  // null: Suspicion::never

 private:
  void link(PeerId peer);
  void give_back(MulticastPacket& packet);

  ServicePort& port_;
  const ServiceId id_;
  const MulticastOptions& options_;
  MulticastPackets& packets_;
  MulticastStats& stats_;
  std::vector<std::unique_ptr<MulticastSend>> sends_;  // as many as ever waited at once
  MulticastSend* free_sends_ = nullptr;
  std::vector<bool> linked_;  // by peer: it has been sent packets
  std::unique_ptr<Rescue> rescue_;
};

}  // namespace lfc
