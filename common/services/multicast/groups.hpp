// MulticastGroups: the groups that this process has joined, the check of the senders of their packets, and the packets
// that came for groups not joined yet.
//
//   MulticastGroups groups(options.early);
//   MulticastGroup* group = groups.find(header.group);
//   if (group == nullptr) { if (groups.early_store()->full()) ...; groups.early(header.group) = {packet}; }
//   else if (!group->is_sound(port, from, header)) ...             // not from that peer
//
// Invariants: a packet of a tree is taken from its parent in that tree only, any other from its origin only
// (multicast_test.cpp, "a packet of a tree that does not come from its parent ends the connection it came on").
// Threads: as Multicast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/service_port.hpp"
#include "services/multicast/protocol/membership.hpp"
#include "services/multicast/protocol/receiver.hpp"

namespace lfc {

struct MulticastGroup {
  std::uint64_t key = 0;
  Membership membership;
  std::uint32_t self = 0;
  std::vector<PeerId> peers;
  MulticastReceiver* receiver = nullptr;
  bool lost = false;
  std::shared_ptr<MulticastStore> store;
  std::vector<MulticastPacket*> deferred;  // with forward_in_host: until serve()

  bool is_member(const ServicePort& port, std::uint32_t member, PeerId peer) const {
    return port.name(peer) == membership.name(member);
  }
  bool comes_from_parent(const ServicePort& port, PeerId from,
                         const MulticastHeader& header) const {
    return is_member(port, membership.parent({header.shape, header.fan}, header.origin, self),
                     from);
  }
  // Whether a packet with this header may come from that peer.
  bool is_sound(const ServicePort& port, PeerId from, const MulticastHeader& header) const;
  // Ends the group at this member. False: it had ended before.
  bool end(MulticastReason reason) {
    if (lost) return false;
    lost = true;
    receiver->lost(reason);
    return true;
  }
};

class MulticastGroups {
 public:
  using Packets = std::vector<MulticastPacket*>;

  // `early`: bytes of packets, counted as in MulticastOptions, for groups not joined.
  explicit MulticastGroups(std::size_t early);
  ~MulticastGroups();
  MulticastGroups(const MulticastGroups&) = delete;

  // Returns the group with this key; null: not joined.
  MulticastGroup* find(std::uint64_t key) {
    if (last_ == nullptr || last_->key != key) {
      const auto found = joined_.find(key);
      last_ = found == joined_.end() ? nullptr : found->second.get();
    }
    return last_;
  }
  MulticastGroup* add(std::unique_ptr<MulticastGroup> group);
  void remove(MulticastGroup& group) noexcept;
  const std::unordered_map<std::uint64_t, std::unique_ptr<MulticastGroup>>& all() const noexcept {
    return joined_;
  }

  Packets& early(std::uint64_t key) { return early_[key]; }
  const std::shared_ptr<MulticastStore>& early_store() const noexcept { return early_store_; }
  // Returns and removes the packets that came for the group before it was joined, in order.
  Packets take_early(std::uint64_t key);
  // Deletes the packets that wait here.
  void drop_packets() noexcept;

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<MulticastGroup>> joined_;
  MulticastGroup* last_ = nullptr;  // the result of the last find()
  std::unordered_map<std::uint64_t, Packets> early_;
  std::shared_ptr<MulticastStore> early_store_;
};

}  // namespace lfc
