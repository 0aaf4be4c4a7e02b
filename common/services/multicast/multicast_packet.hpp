// What multicast.cpp and rescue.cpp share: packets, sends that wait, and groups.
#pragma once

#include "services/multicast/multicast.hpp"

namespace lfc {

// Packets of one group that keep no credit, however long they stay.
struct Multicast::Store {
  explicit Store(std::size_t limit_) noexcept : limit(limit_) {}
  bool full() const noexcept { return bytes > limit; }
  std::size_t bytes = 0;
  const std::size_t limit;  // beyond it nobody honest would go
};

struct Multicast::Packet {
  Multicast* owner = nullptr;
  PeerId from = kNoPeer;      // whose credit it keeps
  bool holds_credit = false;  // the frame's receive buffer is still taken
  bool kept = false;          // by the receiver
  bool stored = false;        // counted in `store`
  bool in_backlog = false;    // counted by Rescue
  std::uint32_t unsent = 0;   // children that wait
  std::atomic<std::uint32_t>* origin_unsent = nullptr;
  std::shared_ptr<Store> store;  // of what has come; outlives the group that has been left
  MulticastHeader header;
  const std::byte* data = nullptr;  // own storage, or the origin's memory
  std::size_t size = 0;
  std::size_t capacity = 0;
  std::unique_ptr<std::byte[]> storage;
};
static_assert(sizeof(Multicast::Packet) + 64 <= Multicast::kPacketCost);

// One child that a packet waits for.
struct Multicast::Send : Message {
  Packet* packet = nullptr;  // while it waits
  Send* next_free = nullptr;
  PeerId peer = kNoPeer;
  bool blocked = false;  // it is in the peer's list of blocked sends
  Send* next_blocked = nullptr;
  Send* previous_blocked = nullptr;
};

struct Multicast::Group {
  std::uint64_t key = 0;
  Membership membership;
  std::uint32_t self = 0;
  std::vector<PeerId> peers;
  Receiver* receiver = nullptr;
  bool lost = false;
  std::shared_ptr<Store> store;
  std::vector<Packet*> deferred;  // with forward_in_host: until serve()

  bool is_member(const ServicePort& port, std::uint32_t member, PeerId peer) const {
    return port.name(peer) == membership.name(member);
  }
  bool comes_from_parent(const ServicePort& port, PeerId from,
                         const MulticastHeader& header) const {
    return is_member(port, membership.parent({header.shape, header.fan}, header.origin, self),
                     from);
  }
  // Whether a packet with this head may come from there.
  bool is_sound(const ServicePort& port, PeerId from, const MulticastHeader& header) const;
};

}  // namespace lfc
