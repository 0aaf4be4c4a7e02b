// Packets: the engine's PacketPort.
//
//   Packets packets(peers, sender, counters);
//   packets.begin_frame(peer);                 // its link may lend the bytes of keep()
//   service->on_frame(peer.id, type, payload);
//   packets.end_frame();
//
// Tests: tests/unit/engine/service_test.cpp. Threads: under the NI's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/packet_port.hpp"
#include "engine/sender.hpp"

namespace lfc {

class Packets final : public PacketPort {
 public:
  Packets(PeerTable& peers, Sender& sender, Counters& counters) noexcept
      : PacketPort(sender.packets()), peers_(peers), sender_(sender), counters_(counters) {}

  bool send(PeerId peer, Packet packet, std::uint64_t note) override;
  void drop(PeerId peer, ServiceId id, std::uint64_t note) noexcept override;
  bool waits(PeerId peer, ServiceId id, std::uint64_t note) const noexcept override;
  SharedBytes keep(std::span<const std::byte> bytes) override;

  // Drops all of a service that has ended.
  void drop_all(ServiceId id) noexcept;
  // Packets with a note that have waited and left, or never will.
  WaitingQueue take_left() noexcept { return pool_.take_left(); }
  void begin_frame(const Peer& from) noexcept { from_ = &from; }
  void end_frame() noexcept { from_ = nullptr; }

 private:
  PeerTable& peers_;
  Sender& sender_;
  Counters& counters_;
  const Peer* from_ = nullptr;  // a service handles its frame now
};

}  // namespace lfc
