// Multicast's part in deadlock recovery: who waits for a credit, since when, and sending on channels.
#include <chrono>
#include <utility>

#include "services/multicast/multicast_packet.hpp"

namespace lfc {
namespace {

// Channels that a peer can occupy here with packets for groups that this process has not joined, whose
// members are not known. As many processes would have to recover at the same moment.
constexpr std::size_t kEarlyChannels = 4096;

}  // namespace

// --- What comes ---

bool Multicast::comes_from_parent(const Group& group, PeerId from,
                                  const MulticastHeader& header) const {
  const Membership& members = group.membership;
  const auto parent = members.parent({header.shape, header.fan}, header.origin, group.self);
  return is_member(group, parent, from);
}

// False when an honest peer would not have sent this packet on this channel: it belongs to a tree
// that needs no recovery, its owner is not on the way from the root, or its buffer is not free.
bool Multicast::enter_channel(PeerId from, const MulticastHeader& header,
                              Recovery::Channel channel) {
  if (!recovers(header)) return false;
  if (last_ == nullptr)
    return recovery_->channels() < kEarlyChannels &&
           recovery_->enter(channel, tree_of(header), from);
  const Membership& members = last_->membership;
  const Tree tree{header.shape, header.fan, members.size(), header.origin};
  if (!tree.valid() || header.origin == last_->self ||
      !members.in_tree(header.origin, last_->self) || !comes_from_parent(*last_, from, header))
    return false;
  const Membership::Shape shape{header.shape, header.fan};
  std::uint32_t above = last_->self;
  do {
    if (above == header.origin) return false;
    above = members.parent(shape, header.origin, above);
  } while (members.name(above).packed() != channel.owner);
  return recovery_->enter(channel, tree_of(header), from);
}

void Multicast::channel_clear(Recovery::Channel channel, PeerId parent) {
  port_.control(parent, id_, &channel, sizeof channel);
}

// The receive buffer of a packet is free: the tree parent gets its credit, or a channel its buffer.
void Multicast::give_back(PeerId from, const MulticastHeader& header) {
  if (!recovers(header) || !recovery_->release(tree_of(header))) port_.release(from);
}

// --- What waits ---

std::uint64_t Multicast::now() const {
  if (options_.clock != nullptr) return options_.clock(options_.clock_context);
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

void Multicast::set_timer(Blocked& queue) noexcept {
  if (options_.recovery != Suspicion::timer) return;
  jitter_ ^= jitter_ << 13;
  jitter_ ^= jitter_ >> 17;
  jitter_ ^= jitter_ << 5;
  queue.deadline = now() + options_.delay + jitter_ % (options_.delay + 1);
}

void Multicast::block(Send& send) {
  Blocked& queue = blocked_[send.peer];
  send.blocked = true;
  send.next_blocked = nullptr;
  send.previous_blocked = queue.last;
  if (queue.last != nullptr) {
    queue.last->next_blocked = &send;
  } else {
    queue.first = &send;
    set_timer(queue);
  }
  queue.last = &send;
  port_.wake(id_);
}

void Multicast::unblock(Send& send) noexcept {
  const auto entry = blocked_.find(send.peer);
  send.blocked = false;
  Blocked& queue = entry->second;
  (send.previous_blocked == nullptr ? queue.first : send.previous_blocked->next_blocked) =
      send.next_blocked;
  (send.next_blocked == nullptr ? queue.last : send.next_blocked->previous_blocked) =
      send.previous_blocked;
  if (queue.first == nullptr) {
    blocked_.erase(entry);
  } else {
    set_timer(queue);  // something moves
  }
}

// A packet whose receive buffer was free before it had been sent on (it came before its group, or
// is forwarded by the host) is in nobody's window. Packets of its tree that come after it and wait
// behind it are stored likewise: a channel's way is for packets that occupy buffers only.
void Multicast::join_backlog(Packet& packet) {
  const TreeId tree = tree_of(packet.header);
  if (packet.holds_credit) {
    if (backlog_.empty() || !backlog_.contains(tree)) return;
    store(packet);
  }
  packet.in_backlog = true;
  ++backlog_[tree];
}

void Multicast::leave_backlog(Packet& packet) noexcept {
  packet.in_backlog = false;
  const auto entry = backlog_.find(tree_of(packet.header));
  if (--entry->second == 0) backlog_.erase(entry);
}

// --- What goes on a channel ---

// The oldest send of its tree towards this peer, without a credit. False: no room in the link; it waits
// on, in its place.
bool Multicast::send_on(Recovery::Channel channel, PeerId peer, Send& send) {
  const Packet& packet = *send.packet;
  const std::array<Slice, 3> slices{{{&channel, sizeof channel},
                                     {&packet.header, sizeof packet.header},
                                     {packet.data, packet.size}}};
  if (!port_.try_send_data(peer, id_, slices.data(), packet.size == 0 ? 2 : 3)) return false;
  port_.withdraw(peer, send);
  port_.counters().add(Counter::recovery_packets);
  return true;
}

// Sends on the channels that the tree holds here whatever they have a way for: to each child the oldest
// packet of the tree.
void Multicast::extend(const TreeId& tree) {
  PeerId next = 0;
  for (auto entry = blocked_.begin(); entry != blocked_.end(); entry = blocked_.lower_bound(next)) {
    const PeerId peer = entry->first;
    next = peer + 1;
    if (port_.has_credit(peer)) continue;
    Send* send = entry->second.first;
    while (send != nullptr && tree_of(send->packet->header) != tree) send = send->next_blocked;
    if (send == nullptr) continue;
    const auto channel = recovery_->way(tree, peer);
    if (!channel || !send_on(*channel, peer, *send)) continue;
    recovery_->extend(*channel, peer);
    sent(send, Result::ok);
    next = peer;  // another channel, another packet
  }
}

// One at a time, in turn over the peers that something waits for.
void Multicast::start_recovery() {
  if (blocked_.empty() || recovery_->recovering()) return;
  const bool timed = options_.recovery == Suspicion::timer;
  const std::uint64_t time = timed ? now() : 0;
  auto entry = blocked_.upper_bound(last_recovered_);
  for (std::size_t tried = 0; tried < blocked_.size(); ++tried, ++entry) {
    if (entry == blocked_.end()) entry = blocked_.begin();
    const PeerId peer = entry->first;
    if (port_.has_credit(peer) || (timed && time < entry->second.deadline)) continue;
    Send& send = *entry->second.first;
    if (!send_on(recovery_->own(), peer, send)) continue;
    last_recovered_ = peer;
    port_.counters().add(Counter::recoveries);
    recovery_->start(peer);
    sent(&send, Result::ok);
    return;
  }
}

// True: something waits, so that a recovery may be due in the next pass.
bool Multicast::run_recovery() {
  if (blocked_.empty()) return false;
  std::vector<TreeId> trees;
  for (const auto& [tree, channels] : recovery_->trees()) trees.push_back(tree);
  for (const TreeId& tree : trees) extend(tree);
  start_recovery();
  return !blocked_.empty();
}

}  // namespace lfc
