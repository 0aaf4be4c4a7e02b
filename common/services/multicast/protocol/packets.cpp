#include "services/multicast/protocol/packets.hpp"

#include <algorithm>
#include <utility>

namespace lfc {

MulticastPacket& MulticastPackets::make(const MulticastHeader& header,
                                        std::span<const std::byte> bytes) {
  MulticastPacket& packet = *spares_.take().release();
  ++used_;
  packet.from = kNoPeer;
  packet.header = header;
  packet.data = bytes.data();
  packet.size = bytes.size();
  return packet;
}

MulticastPacket& MulticastPackets::make(PeerId from, const MulticastHeader& header,
                                        SharedBytes body) {
  MulticastPacket& packet = make(header, body.span());
  packet.from = from;
  packet.body = std::move(body);
  ++stats_.kept;
  return packet;
}

bool MulticastPackets::count(MulticastPacket& packet) noexcept {
  if (std::exchange(packet.stored, true)) return false;
  const std::size_t cost = packet.size + MulticastPacket::kCost;
  packet.store->bytes += cost;
  stats_.stored += cost;
  stats_.most_stored = std::max(stats_.most_stored, stats_.stored);
  return true;
}

void MulticastPackets::discount(MulticastPacket& packet) noexcept {
  if (!std::exchange(packet.stored, false)) return;
  const std::size_t cost = packet.size + MulticastPacket::kCost;
  packet.store->bytes -= cost;
  stats_.stored -= cost;
}

void MulticastPackets::dispose(MulticastPacket& packet) noexcept {
  discount(packet);
  packet.store.reset();
  packet.body = {};
  --used_;
  spares_.keep(std::unique_ptr<MulticastPacket>(&packet));
}

}  // namespace lfc
