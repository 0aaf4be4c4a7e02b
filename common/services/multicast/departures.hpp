// Departures: the part of Multicast that sends to a child, at once or when it has a credit. It keeps credit and memory
// of a packet until the packet has been sent to all children.
//
//   Departures departures(port, ServiceId::multicast, options, packets, stats);
//   if (!departures.try_send(peer, header, bytes)) departures.post(packet, peer);   // ++packet.unsent
//   departures.settle(packet);                // after each change: frees credit and memory when no longer needed
//
// Invariants: a packet's credit is given back exactly once, when all children have been sent to, whether it is
// kept or not (tests/unit/services/multicast/port_test.cpp); sends that wait when Multicast ends are never sent
// (multicast_test.cpp, "packets that wait for credits end with their service").
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

// MulticastSend: one child that a packet waits for. Its number + 1 is the note of the engine's packet.
struct MulticastSend {
  std::uint32_t number = 0;
  MulticastPacket* packet = nullptr;  // while it waits
  MulticastSend* next_free = nullptr;
  PeerId peer = kNoPeer;
  bool blocked = false;  // it is in the peer's list of blocked sends
  MulticastSend* next_blocked = nullptr;
  MulticastSend* previous_blocked = nullptr;
};

inline std::uint64_t note_of(const MulticastSend& send) noexcept {
  return std::uint64_t{send.number} + 1;
}

class Departures {
 public:
  // All arguments must outlive it.
  Departures(ServicePort& port, ServiceId id, const MulticastOptions& options,
             MulticastPackets& packets, MulticastStats& stats);
  ~Departures();

  // Sends at once. False: the peer has no credit or the link no room, and nothing is sent.
  bool try_send(PeerId peer, const MulticastHeader& header, std::span<const std::byte> bytes) {
    if (peer == kNoPeer) return true;  // lost() has been or will be called
    if (peer >= linked_.size() || !linked_[peer]) link(peer);
    const std::array<Slice, 2> slices{{{&header, sizeof header}, {bytes.data(), bytes.size()}}};
    return port_.try_send(peer, id_, slices.data(), bytes.empty() ? 1 : 2);
  }
  // Sends the packet to this peer when there is a credit and room.
  void post(MulticastPacket& packet, PeerId peer);
  // Sends at once, or copies the bytes and sends them later.
  void send(PeerId peer, const MulticastHeader& header, std::span<const std::byte> bytes);
  // Ends a send that waited: it has gone, or never will.
  void sent(MulticastSend& send);
  void sent(std::uint64_t note) { sent(*sends_[note - 1]); }
  // Forgets all sends that wait, whose packets the engine drops; a packet is deleted with the last of them.
  void withdraw();

  // Frees the parts that the packet no longer needs: the credit, then the packet itself.
  void settle(MulticastPacket& packet);
  // Counts the packet as stored, and gives its credit back, however long the packet stays.
  void store(MulticastPacket& packet);
  // Gives the credit of a packet back: to the tree parent, or to an escape path as its buffer.
  void give_back(PeerId from, const MulticastHeader& header);

  // Whether packets of the tree may wait in a circle, from which Rescue frees them.
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
