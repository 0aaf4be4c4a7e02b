// MulticastPackets: packets that stay, for children without a credit and receivers that were not ready. It counts the
// bytes of stored packets, because these keep no credit that would bound them.
//
//   MulticastPackets packets(stats);
//   MulticastPacket& packet = packets.make(from, header, port.packets().keep(bytes));
//   packet.store = store;                                        // of its group
//   packets.count(packet);                                       // it stays, although its credit has been returned
//   packets.dispose(packet);
//
// Invariant: `stored` is the sum over packets counted and not yet discounted
// (tests/unit/services/multicast/packets_test.cpp).
// Threads: none of its own; the NI serialises.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/shared_bytes.hpp"
#include "base/spares.hpp"
#include "services/multicast/protocol/header.hpp"
#include "services/multicast/protocol/options.hpp"
#include "wire/frame.hpp"

namespace lfc {

// MulticastStore: the bytes of one group's stored packets, which hold no credit, with their limit.
struct MulticastStore {
  explicit MulticastStore(std::size_t limit_) noexcept : limit(limit_) {}
  bool full() const noexcept { return bytes > limit; }
  std::size_t bytes = 0;
  const std::size_t limit;  // bytes; a group that exceeds it has a member that breaks the protocol
};

// MulticastPacket: a packet that stays. A receiver reads `header` and bytes(); the rest belongs to Multicast.
struct MulticastPacket {
  static constexpr std::size_t kCost = 512;  // besides its bytes, at most

  std::span<const std::byte> bytes() const noexcept { return {data, size}; }

  PeerId from = kNoPeer;      // the peer that gets its credit back
  bool holds_credit = false;  // the tree parent has not got it back
  bool kept = false;          // by the receiver
  bool stored = false;        // counted in `store`
  bool in_backlog = false;    // counted by Rescue
  std::uint32_t unsent = 0;   // children that wait
  std::atomic<std::uint32_t>* origin_unsent = nullptr;
  std::shared_ptr<MulticastStore> store;  // of received packets; may outlive the group
  MulticastHeader header;
  SharedBytes body;                 // empty: the bytes are the origin's memory, or there are none
  const std::byte* data = nullptr;  // of the bytes
  std::size_t size = 0;
};
static_assert(sizeof(MulticastPacket) + 64 <= MulticastPacket::kCost);

class MulticastPackets {
 public:
  explicit MulticastPackets(MulticastStats& stats) noexcept : stats_(stats) {}
  MulticastPackets(const MulticastPackets&) = delete;

  // Returns a packet with these bytes.
  MulticastPacket& make(PeerId from, const MulticastHeader& header, SharedBytes body);
  // Returns one whose bytes stay in the memory of this process, their origin.
  MulticastPacket& make(const MulticastHeader& header, std::span<const std::byte> bytes);
  // Counts a packet that stays in its store. False: it has been counted already.
  bool count(MulticastPacket& packet) noexcept;
  void discount(MulticastPacket& packet) noexcept;
  void dispose(MulticastPacket& packet) noexcept;
  // Returns the number of packets in use.
  std::size_t size() const noexcept { return used_; }

 private:
  MulticastStats& stats_;
  std::size_t used_ = 0;
  Spares<MulticastPacket, 1024> spares_;
};

}  // namespace lfc
