// MulticastPackets: packets in buffers of the NI, for children without a credit and receivers that were not ready. It
// counts the bytes of stored packets, because these keep no receive buffer that would bound them.
//
//   MulticastPackets packets(stats);
//   MulticastPacket& packet = packets.copy(from, header, bytes);
//   packet.store = store;                                        // of its group
//   packets.count(packet);                                       // it stays, although its receive buffer is free
//   packets.dispose(packet);                                     // the next one of about that size uses its memory
//
// Invariants: spare buffers hold at most limits::kMulticastSpares bytes; a buffer has at most a
// quarter more than its packet needs; `stored` is the sum over packets counted and not yet discounted
// (tests/unit/services/multicast/packets_test.cpp).
// Threads: none of its own; the NI serialises.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "services/multicast/protocol/header.hpp"
#include "services/multicast/protocol/options.hpp"
#include "wire/frame.hpp"

namespace lfc {

// MulticastStore: the bytes of one group's stored packets that occupy no receive buffer, with their limit.
struct MulticastStore {
  explicit MulticastStore(std::size_t limit_) noexcept : limit(limit_) {}
  bool full() const noexcept { return bytes > limit; }
  std::size_t bytes = 0;
  const std::size_t limit;  // bytes; a group that exceeds it has a member that breaks the protocol
};

// MulticastPacket: a packet in a buffer. A receiver reads `header` and bytes(); the rest belongs to Multicast.
struct MulticastPacket {
  static constexpr std::size_t kCost = 512;  // besides its bytes, at most

  std::span<const std::byte> bytes() const noexcept { return {data, size}; }

  PeerId from = kNoPeer;      // the peer that gets its credit back
  bool holds_credit = false;  // the frame's receive buffer is still taken
  bool kept = false;          // by the receiver
  bool stored = false;        // counted in `store`
  bool in_backlog = false;    // counted by Rescue
  std::uint32_t unsent = 0;   // children that wait
  std::atomic<std::uint32_t>* origin_unsent = nullptr;
  std::shared_ptr<MulticastStore> store;  // of received packets; may outlive the group
  MulticastHeader header;
  const std::byte* data = nullptr;  // own storage, or the origin's memory
  std::size_t size = 0;
  std::size_t capacity = 0;
  std::unique_ptr<std::byte[]> storage;
};
static_assert(sizeof(MulticastPacket) + 64 <= MulticastPacket::kCost);

class MulticastPackets {
 public:
  explicit MulticastPackets(MulticastStats& stats) noexcept : stats_(stats) {}
  ~MulticastPackets();
  MulticastPackets(const MulticastPackets&) = delete;

  // Returns a packet with room for `size` bytes; 0 for one whose bytes stay in the origin's memory.
  MulticastPacket& make(std::size_t size);
  MulticastPacket& copy(PeerId from, const MulticastHeader& header,
                        std::span<const std::byte> bytes);
  // Counts a packet that stays in its store. False: it has been counted already.
  bool count(MulticastPacket& packet) noexcept;
  void discount(MulticastPacket& packet) noexcept;
  void dispose(MulticastPacket& packet) noexcept;
  // Returns the number of packets in use.
  std::size_t size() const noexcept { return used_; }
  std::size_t spare_bytes() const noexcept { return spare_; }

 private:
  MulticastStats& stats_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<MulticastPacket*>> free_;  // by capacity
  std::size_t spare_ = 0;                                      // bytes of those
};

}  // namespace lfc
