#include "services/multicast/rescue.hpp"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace lfc {
namespace {

// A packet on a path for a group not joined yet, whose members are unknown, is accepted while fewer paths than this are
// held here. Without hostile peers, more need as many processes that recover at the same moment.
constexpr std::size_t kEarlyEscapes = 4096;

}  // namespace

Rescue::Rescue(Departures& departures, ServicePort& port, ServiceId id,
               const MulticastOptions& options)
    : departures_(departures),
      port_(port),
      id_(id),
      options_(options),
      recovery_(port_.identity().name.packed(), *this),
      jitter_(port_.identity().tag | 1u) {}

// --- Arrivals ---

bool Rescue::enter(const MulticastGroup* group, PeerId from, const MulticastHeader& header,
                   Recovery::EscapePath escape) {
  if (!departures_.recovers(header)) return false;
  if (group == nullptr)
    return recovery_.escapes() < kEarlyEscapes && recovery_.enter(escape, tree_of(header), from);
  const Membership& members = group->membership;
  const Tree tree{header.shape, header.fan, members.size(), header.origin};
  if (!tree.valid() || header.origin == group->self ||
      !members.in_tree(header.origin, group->self) ||
      !group->comes_from_parent(port_, from, header))
    return false;
  const Membership::Shape shape{header.shape, header.fan};
  std::uint32_t above = group->self;
  do {
    if (above == header.origin) return false;
    above = members.parent(shape, header.origin, above);
  } while (members.name(above).packed() != escape.owner);
  return recovery_.enter(escape, tree_of(header), from);
}

void Rescue::escape_clear(Recovery::EscapePath escape, PeerId parent) {
  port_.control(parent, id_, &escape, sizeof escape);
}

// --- Sends that wait ---

std::uint64_t Rescue::now() const {
  if (options_.clock != nullptr) return options_.clock(options_.clock_context);
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

void Rescue::set_timer(Queue& queue) noexcept {
  if (options_.recovery != Suspicion::timer) return;
  jitter_ ^= jitter_ << 13;
  jitter_ ^= jitter_ >> 17;
  jitter_ ^= jitter_ << 5;
  queue.deadline = now() + options_.delay + jitter_ % (options_.delay + 1);
}

void Rescue::wait(MulticastSend& send) {
  Queue& queue = queues_[send.peer];
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

void Rescue::went(MulticastSend& send) noexcept {
  const auto entry = queues_.find(send.peer);
  send.blocked = false;
  Queue& queue = entry->second;
  (send.previous_blocked == nullptr ? queue.first : send.previous_blocked->next_blocked) =
      send.next_blocked;
  (send.next_blocked == nullptr ? queue.last : send.next_blocked->previous_blocked) =
      send.previous_blocked;
  if (queue.first == nullptr) {
    queues_.erase(entry);
  } else {
    set_timer(queue);  // the queue moves
  }
}

void Rescue::join_backlog(MulticastPacket& packet) {
  const TreeId tree = tree_of(packet.header);
  if (packet.holds_credit) {
    if (backlog_.empty() || !backlog_.contains(tree)) return;
    departures_.store(packet);
  }
  packet.in_backlog = true;
  ++backlog_[tree];
}

void Rescue::leave_backlog(MulticastPacket& packet) noexcept {
  packet.in_backlog = false;
  const auto entry = backlog_.find(tree_of(packet.header));
  if (--entry->second == 0) backlog_.erase(entry);
}

// --- Sending on escape paths ---

// Sends the oldest send of its tree towards this peer, without a credit. False: the link has no room; the send keeps
// its place and waits. Or it has left already, which the engine reports soon.
bool Rescue::send_on(Recovery::EscapePath escape, PeerId peer, MulticastSend& send) {
  if (!port_.packets().waits(peer, id_, note_of(send))) return false;
  const MulticastPacket& packet = *send.packet;
  const std::array<Slice, 3> slices{{{&escape, sizeof escape},
                                     {&packet.header, sizeof packet.header},
                                     {packet.data, packet.size}}};
  if (!port_.try_send_data(peer, id_, slices.data(), packet.size == 0 ? 2 : 3)) return false;
  port_.packets().drop(peer, id_, note_of(send));
  port_.counters().add(Counter::recovery_packets);
  return true;
}

void Rescue::extend(const TreeId& tree) {
  PeerId next = 0;
  for (auto entry = queues_.begin(); entry != queues_.end(); entry = queues_.lower_bound(next)) {
    const PeerId peer = entry->first;
    next = peer + 1;
    if (port_.has_credit(peer)) continue;
    MulticastSend* send = entry->second.first;
    while (send != nullptr && tree_of(send->packet->header) != tree) send = send->next_blocked;
    if (send == nullptr) continue;
    const auto escape = recovery_.way(tree, peer);
    if (!escape || !send_on(*escape, peer, *send)) continue;
    recovery_.extend(*escape, peer);
    departures_.sent(*send);
    next = peer;  // another path may take another packet
  }
}

void Rescue::start() {
  if (queues_.empty() || recovery_.recovering()) return;
  const bool timed = options_.recovery == Suspicion::timer;
  const std::uint64_t time = timed ? now() : 0;
  auto entry = queues_.upper_bound(last_);
  for (std::size_t tried = 0; tried < queues_.size(); ++tried, ++entry) {
    if (entry == queues_.end()) entry = queues_.begin();
    const PeerId peer = entry->first;
    if (port_.has_credit(peer) || (timed && time < entry->second.deadline)) continue;
    MulticastSend& send = *entry->second.first;
    if (!send_on(recovery_.own(), peer, send)) continue;
    last_ = peer;
    port_.counters().add(Counter::recoveries);
    recovery_.start(peer);
    departures_.sent(send);
    return;
  }
}

bool Rescue::run() {
  if (queues_.empty()) return false;
  std::vector<TreeId> trees;
  for (const auto& [tree, escapes] : recovery_.trees()) trees.push_back(tree);
  for (const TreeId& tree : trees) extend(tree);
  start();
  return !queues_.empty();
}

}  // namespace lfc
