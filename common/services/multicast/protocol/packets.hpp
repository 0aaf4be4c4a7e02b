// MulticastPackets: packets in buffers of the NI's, for children without a credit and receivers who were not ready, and
// how many bytes of them are stored: counted, because they keep no receive buffer that would bound them.
//
//   MulticastPackets packets(stats);
//   MulticastPacket& packet = packets.copy(from, header, bytes);
//   packet.store = store;                                        // of its group
//   packets.count(packet);                                       // it stays, though its receive buffer is free
//   packets.dispose(packet);                                     // its memory serves the next one of about that size
//
// Invariants: buffers that wait to serve again hold at most limits::kMulticastSpares bytes; a buffer has at most a
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

// Packets of one group that keep no credit, however long they stay.
struct MulticastStore {
  explicit MulticastStore(std::size_t limit_) noexcept : limit(limit_) {}
  bool full() const noexcept { return bytes > limit; }
  std::size_t bytes = 0;
  const std::size_t limit;  // beyond it nobody honest would go
};

// A receiver reads `header` and bytes(); all else is Multicast's.
struct MulticastPacket {
  static constexpr std::size_t kCost = 512;  // besides its bytes, at most

  std::span<const std::byte> bytes() const noexcept { return {data, size}; }

  PeerId from = kNoPeer;      // whose credit it keeps
  bool holds_credit = false;  // the frame's receive buffer is still taken
  bool kept = false;          // by the receiver
  bool stored = false;        // counted in `store`
  bool in_backlog = false;    // counted by Rescue
  std::uint32_t unsent = 0;   // children that wait
  std::atomic<std::uint32_t>* origin_unsent = nullptr;
  std::shared_ptr<MulticastStore> store;  // of what has come; outlives the group that has been left
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

  // A packet with room for so many bytes; with 0, for one whose bytes stay where they are.
  MulticastPacket& make(std::size_t size);
  MulticastPacket& copy(PeerId from, const MulticastHeader& header,
                        std::span<const std::byte> bytes);
  // The packet stays, and is counted in its store. False: it has been already.
  bool count(MulticastPacket& packet) noexcept;
  void discount(MulticastPacket& packet) noexcept;
  void dispose(MulticastPacket& packet) noexcept;
  // In use now.
  std::size_t size() const noexcept { return used_; }
  std::size_t spare_bytes() const noexcept { return spare_; }

 private:
  MulticastStats& stats_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<MulticastPacket*>> free_;  // by capacity
  std::size_t spare_ = 0;                                      // bytes of those
};

}  // namespace lfc
