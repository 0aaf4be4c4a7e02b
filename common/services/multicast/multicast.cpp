#include "services/multicast/multicast.hpp"
#include "base/bytes.hpp"
#include "services/multicast/rescue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

MulticastReason reason_of(const MulticastHeader& header) noexcept {
  return header.tag > static_cast<std::uint8_t>(MulticastReason::last_)
             ? MulticastReason::loss
             : static_cast<MulticastReason>(header.tag);
}

}  // namespace

Multicast::Multicast(ServicePort& port, const Options& options, ServiceId id)
    : port_(port),
      id_(id),
      options_(options),
      departures_(port, id, options_, packets_, stats_),
      groups_(options.early) {
  port_.attach(id_, this);
}

// The engine drops its packets before the memory to which they refer ends. The bytes of those that stay are its own.
Multicast::~Multicast() {
  port_.attach(id_, nullptr);
  const ServicePort::Access access(port_);
  departures_.withdraw();
  groups_.drop_packets();
}

// --- Groups ---

void Multicast::join(Group*& group, std::uint64_t key, Membership membership, std::uint32_t self,
                     std::vector<PeerId> peers, Receiver& receiver) {
  auto made = std::make_unique<Group>();
  made->key = key;
  made->membership = std::move(membership);
  made->self = self;
  made->peers = std::move(peers);
  made->receiver = &receiver;
  made->store = std::make_shared<MulticastStore>(options_.share * made->membership.size());
  const ServicePort::Access access(port_);
  group = groups_.add(std::move(made));
  const bool lost = std::any_of(group->peers.begin(), group->peers.end(), [&](PeerId peer) {
    return peer != kNoPeer && port_.is_lost(peer);
  });
  if (lost) give_up(*group);
  std::vector<Packet*> early = groups_.take_early(key);
  replay(*group, early);
}

void Multicast::leave(Group* group) noexcept {
  const ServicePort::Access access(port_);
  for (Packet* packet : group->deferred) {
    packet->kept = false;
    departures_.settle(*packet);
  }
  groups_.remove(*group);
}

void Multicast::wake(MulticastWorker& worker) {
  if (std::find(awake_.begin(), awake_.end(), &worker) == awake_.end()) awake_.push_back(&worker);
  port_.wake(id_);
}

void Multicast::forget(MulticastWorker& worker) noexcept { std::erase(awake_, &worker); }

bool Multicast::work() {
  working_.clear();
  working_.swap(awake_);
  for (MulticastWorker* const worker : working_)
    if (worker->work()) wake(*worker);
  const bool blocked = departures_.rescue() != nullptr && departures_.rescue()->run();
  return blocked || !awake_.empty();
}

void Multicast::set_peer(Group& group, std::uint32_t member, PeerId peer) {
  group.peers[member] = peer;
  if (peer == kNoPeer || port_.is_lost(peer)) give_up(group);
}

bool Multicast::recovered() const noexcept {
  return departures_.rescue() == nullptr || departures_.rescue()->idle();
}

// --- Sending ---

void Multicast::send(Group& group, MulticastHeader header, std::span<const std::byte> bytes,
                     std::atomic<std::uint32_t>& unsent) {
  header.group = group.key;
  header.kind = MulticastHeader::Kind::tree;
  header.origin = group.self;
  port_.counters().add(Counter::multicasts);
  Packet* packet = nullptr;
  for (const std::uint32_t child :
       group.membership.children({header.shape, header.fan}, group.self, group.self)) {
    ++stats_.sent;
    if (departures_.try_send(group.peers[child], header, bytes)) continue;
    if (packet == nullptr) {
      packet = &packets_.make(header, bytes);
      packet->origin_unsent = &unsent;
      packet->unsent = 1;  // this function
      unsent.fetch_add(1, std::memory_order_relaxed);
    }
    departures_.post(*packet, group.peers[child]);
  }
  if (packet != nullptr) {
    --packet->unsent;
    departures_.settle(*packet);
  }
}

void Multicast::send_direct(Group& group, std::uint32_t member, MulticastHeader header,
                            std::span<const std::byte> bytes) {
  header.group = group.key;
  header.kind = MulticastHeader::Kind::direct;
  header.origin = group.self;
  ++stats_.sent;
  departures_.send(group.peers[member], header, bytes);
}

void Multicast::release(Packet& packet) {
  packet.kept = false;
  departures_.settle(packet);
}

// --- Receiving ---

// A packet that accept() works on. It is in one of three states:
//
// | packet | replayed | bytes are in                               | free_buffer()                                  |
// | ------ | -------- | ------------------------------------------ | ---------------------------------------------- |
// | null   | false    | the frame                                  | returns the credit                             |
// | set    | false    | that, and a packet made by keep_once()     | leaves the credit to it, and settles it        |
// | set    | true     | a packet that set_aside() stored           | does nothing: replay() settles the packet      |
struct Multicast::Arrival {
  PeerId from;
  const MulticastHeader& header;
  std::span<const std::byte> bytes;
  Packet* packet = nullptr;
  bool replayed = false;

  Packet& keep_once(MulticastPackets& packets, ServicePort& port, const Group& group) {
    if (packet == nullptr) {
      packet = &packets.make(from, header, port.packets().keep(bytes));
      packet->store = group.store;
      packet->unsent = 1;  // accept(), until free_buffer()
      packet->holds_credit = true;
    }
    return *packet;
  }
};

Service::Verdict Multicast::on_frame(PeerId peer, FrameType type,
                                     std::span<const std::byte> payload) {
  if (type == FrameType::service) return on_packet(peer, nullptr, payload);
  Recovery::EscapePath escape;
  if (departures_.rescue() == nullptr || payload.size() < sizeof escape) return Verdict::malformed;
  std::memcpy(&escape, payload.data(), sizeof escape);
  payload = payload.subspan(sizeof escape);
  if (type == FrameType::service_data) return on_packet(peer, &escape, payload);
  const bool sound = payload.empty() && departures_.rescue()->clear(escape, peer);
  return sound ? Verdict::release : Verdict::malformed;
}

Service::Verdict Multicast::on_packet(PeerId peer, const Recovery::EscapePath* escape,
                                      std::span<const std::byte> payload) {
  if (payload.size() < sizeof(MulticastHeader)) return Verdict::malformed;
  const auto header = load_pod<MulticastHeader>(payload.data());
  const auto bytes = payload.subspan(sizeof header);
  if (header.kind > MulticastHeader::Kind::last_ || bytes.size() > max_packet())
    return Verdict::malformed;
  Group* const group = groups_.find(header.group);
  if (escape != nullptr && !departures_.rescue()->enter(group, peer, header, *escape))
    return Verdict::malformed;
  if (group == nullptr) {
    if (header.kind == MulticastHeader::Kind::lost) return Verdict::release;
    ++stats_.early;
    if (groups_.early_store()->full()) return Verdict::malformed;
    return set_aside(groups_.early(header.group), groups_.early_store(), peer, header, bytes);
  }
  if (options_.forward_in_host && header.kind == MulticastHeader::Kind::tree &&
      !group->store->full())
    return set_aside(group->deferred, group->store, peer, header, bytes);
  Arrival arrival{peer, header, bytes};
  return accept(*group, arrival);
}

Service::Verdict Multicast::set_aside(std::vector<Packet*>& list,
                                      const std::shared_ptr<MulticastStore>& store, PeerId from,
                                      const MulticastHeader& header,
                                      std::span<const std::byte> bytes) {
  Packet& packet = packets_.make(from, header, port_.packets().keep(bytes));
  packet.store = store;
  packet.kept = true;
  packet.holds_credit = true;
  list.push_back(&packet);
  departures_.settle(packet);
  return Verdict::hold;
}

void Multicast::replay(Group& group, std::vector<Packet*>& list) {
  for (Packet* packet : list) {
    packets_.discount(*packet);
    packet->store = group.store;
    packet->kept = false;
    packet->unsent = 1;  // this function
    // If it is malformed, it is dropped, and the group ends: its frame can no longer be rejected.
    Arrival arrival{packet->from, packet->header, packet->bytes(), packet, true};
    if (accept(group, arrival) == Verdict::malformed) give_up(group);
    if (packet->kept || packet->unsent > 1) departures_.store(*packet);
    --packet->unsent;
    departures_.settle(*packet);
  }
}

void Multicast::serve(Group& group) {
  std::vector<Packet*> list;
  list.swap(group.deferred);
  replay(group, list);
}

// --- The steps of accept() ---

// Flat: the steps are called only here, and a call of each would cost some ten instructions per packet.
[[gnu::flatten]] Service::Verdict Multicast::accept(Group& group, Arrival& arrival) {
  const MulticastHeader& header = arrival.header;
  if (!group.is_sound(port_, arrival.from, header)) return Verdict::malformed;
  const bool tree = header.kind == MulticastHeader::Kind::tree;
  // A member that is not connected yet may send a query, and needs a reply.
  if (!tree && group.peers[header.origin] == kNoPeer) set_peer(group, header.origin, arrival.from);
  if (header.kind == MulticastHeader::Kind::lost) {
    group.end(reason_of(header));
    return Verdict::release;
  }
  if (group.store->full()) {
    give_up(group);
  } else {
    if (tree) forward(group, arrival);
    if (!give_to_receiver(group, arrival)) {
      if (!tree) return Verdict::malformed;
      // The last hop only forwards the packet, so the group ends, and not the connection.
      give_up(group);
    }
  }
  if (departures_.recovers(header)) extend_escapes(arrival);
  return free_buffer(arrival);
}

// Sends the packet at once to the children that have a credit, and keeps it for the others.
void Multicast::forward(Group& group, Arrival& arrival) {
  const MulticastHeader& header = arrival.header;
  for (const std::uint32_t child :
       group.membership.children({header.shape, header.fan}, header.origin, group.self)) {
    ++stats_.forwarded;
    if (!departures_.try_send(group.peers[child], header, arrival.bytes))
      departures_.post(arrival.keep_once(packets_, port_, group), group.peers[child]);
  }
}

// False: the receiver rejects the packet as malformed.
bool Multicast::give_to_receiver(Group& group, Arrival& arrival) {
  ++stats_.taken;
  const Receiver::Reception reception = group.receiver->take(arrival.header, arrival.bytes);
  if (reception == Receiver::Reception::keep) {
    Packet& packet = arrival.keep_once(packets_, port_, group);
    packet.kept = true;
    group.receiver->keep(packet);
  }
  return reception != Receiver::Reception::malformed;
}

// Sends packets of the tree on its escape buffers, and adds this packet to the backlog if it still waits for a child.
void Multicast::extend_escapes(const Arrival& arrival) {
  departures_.rescue()->extend(arrival.header);
  if (arrival.packet != nullptr && arrival.packet->unsent > 1)
    departures_.rescue()->join_backlog(*arrival.packet);
}

// `release`: the engine returns the credit of the frame. `hold`: the engine does not, because the packet still has
// it, or give_back() has just returned it or made an escape buffer of it.
Service::Verdict Multicast::free_buffer(const Arrival& arrival) {
  if (arrival.replayed) return Verdict::release;  // replay() does not use it
  if (arrival.packet != nullptr) {
    --arrival.packet->unsent;
    departures_.settle(*arrival.packet);
    return Verdict::hold;
  }
  if (!departures_.recovers(arrival.header)) return Verdict::release;
  departures_.give_back(arrival.from, arrival.header);
  return Verdict::hold;
}

// --- Loss ---

void Multicast::on_left(PeerId, std::uint64_t note, Result) { departures_.sent(note); }

void Multicast::on_lost(PeerId peer) {
  if (departures_.rescue() != nullptr) departures_.rescue()->lose(peer);
  for (auto& [key, group] : groups_.all()) {
    const auto& peers = group->peers;
    if (std::find(peers.begin(), peers.end(), peer) != peers.end()) give_up(*group);
  }
}

// Others may wait for the lost member through this one, or for this one through it: all members are notified.
void Multicast::give_up(Group& group, Reason reason) {
  if (!group.end(reason)) return;
  for (std::uint32_t member = 0; member < group.membership.size(); ++member)
    if (member != group.self) give_up(group, member, reason);
}

void Multicast::give_up(Group& group, std::uint32_t member, Reason reason) {
  const PeerId peer = group.peers[member];
  if (peer == kNoPeer || port_.is_lost(peer)) return;
  MulticastHeader header;
  header.kind = MulticastHeader::Kind::lost;
  header.tag = static_cast<std::uint8_t>(reason);
  header.group = group.key;
  header.origin = group.self;
  departures_.send(peer, header, {});
}

}  // namespace lfc
