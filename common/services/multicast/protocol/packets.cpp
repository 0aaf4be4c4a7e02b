#include "services/multicast/protocol/packets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/limits.hpp"

namespace lfc {
namespace {

// Returns the bytes to allocate for a packet: few sizes, so that free packets fit later ones, and at most a quarter of
// them unused.
std::size_t room_for(std::size_t bytes) noexcept {
  const std::size_t step = std::max<std::size_t>(64, std::bit_ceil(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

MulticastPackets::~MulticastPackets() {
  for (auto& [capacity, list] : free_)
    for (MulticastPacket* packet : list) delete packet;
}

MulticastPacket& MulticastPackets::make(std::size_t size) {
  const std::size_t capacity = room_for(size);
  auto& spare = free_[capacity];
  MulticastPacket* packet = nullptr;
  if (!spare.empty()) {
    packet = spare.back();
    spare.pop_back();
    spare_ -= capacity;
  } else {
    packet = new MulticastPacket;
    packet->capacity = capacity;
    packet->storage = std::make_unique_for_overwrite<std::byte[]>(capacity);
  }
  ++used_;
  return *packet;
}

MulticastPacket& MulticastPackets::copy(PeerId from, const MulticastHeader& header,
                                        std::span<const std::byte> bytes) {
  MulticastPacket& packet = make(bytes.size());
  packet.from = from;
  packet.header = header;
  packet.data = packet.storage.get();
  packet.size = bytes.size();
  if (!bytes.empty()) std::memcpy(packet.storage.get(), bytes.data(), bytes.size());
  ++stats_.copied;
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
  --used_;
  if (spare_ + packet.capacity <= limits::kMulticastSpares) {
    spare_ += packet.capacity;
    free_[packet.capacity].push_back(&packet);
  } else {
    delete &packet;
  }
}

}  // namespace lfc
