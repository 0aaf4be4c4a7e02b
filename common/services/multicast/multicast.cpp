#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "services/multicast/multicast_packet.hpp"
#include "services/multicast/rescue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

// What is allocated for so many bytes: few sizes, so that free packets serve again, and at most a quarter
// of it in vain.
std::size_t room_for(std::size_t bytes) noexcept {
  const std::size_t step = std::max<std::size_t>(64, std::bit_ceil(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

const MulticastHeader& Multicast::header(const Packet& packet) noexcept { return packet.header; }
std::span<const std::byte> Multicast::bytes(const Packet& packet) noexcept {
  return {packet.data, packet.size};
}
const Membership& Multicast::membership(const Group& group) noexcept { return group.membership; }

Multicast::Multicast(ServicePort& port, const Options& options, ServiceId id)
    : port_(port),
      id_(id),
      options_(options),
      early_store_(std::make_shared<Store>(options.early)) {
  if (options.recovery != Suspicion::never) rescue_ = std::make_unique<Rescue>(*this);
  port_.attach(id_, this);
}

Multicast::~Multicast() {
  {
    // What still waits for credits will not be sent; a packet goes with the last of its sends.
    const ServicePort::Access access(port_);
    for (const auto& send : sends_) {
      if (send->packet == nullptr) continue;
      port_.withdraw(send->peer, *send);
      if (--send->packet->unsent == 0 && !send->packet->kept) delete send->packet;
    }
  }
  port_.attach(id_, nullptr);
  for (auto& [key, list] : early_)
    for (Packet* packet : list) delete packet;
  for (auto& [key, group] : groups_)
    for (Packet* packet : group->deferred) delete packet;
  for (auto& [capacity, list] : free_packets_)
    for (Packet* packet : list) delete packet;
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
  made->store = std::make_shared<Store>(options_.share * made->membership.size());
  const ServicePort::Access access(port_);
  group = made.get();
  groups_[key] = std::move(made);
  const bool lost = std::any_of(group->peers.begin(), group->peers.end(), [&](PeerId peer) {
    return peer != kNoPeer && port_.is_broken(peer);
  });
  if (lost) give_up(*group);
  const auto early = early_.find(key);
  if (early != early_.end()) {
    std::vector<Packet*> list = std::move(early->second);
    early_.erase(early);
    replay(*group, list);
  }
}

void Multicast::leave(Group* group) noexcept {
  const ServicePort::Access access(port_);
  for (Packet* packet : group->deferred) {
    packet->kept = false;
    settle(*packet);
  }
  if (last_ == group) last_ = nullptr;
  groups_.erase(group->key);
}

void Multicast::wake(Receiver& receiver) {
  if (std::find(awake_.begin(), awake_.end(), &receiver) == awake_.end())
    awake_.push_back(&receiver);
  port_.wake(id_);
}

void Multicast::forget(Receiver& receiver) noexcept { std::erase(awake_, &receiver); }

bool Multicast::work() {
  std::vector<Receiver*> list;
  list.swap(awake_);
  for (Receiver* receiver : list)
    if (receiver->work()) wake(*receiver);
  const bool blocked = rescue_ != nullptr && rescue_->run();
  return blocked || !awake_.empty();
}

void Multicast::set_peer(Group& group, std::uint32_t member, PeerId peer) {
  group.peers[member] = peer;
  if (peer == kNoPeer || port_.is_broken(peer)) give_up(group);
}

PeerId Multicast::peer(const Group& group, std::uint32_t member) const noexcept {
  return group.peers[member];
}

bool Multicast::recovered() const noexcept { return rescue_ == nullptr || rescue_->idle(); }

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
    if (try_send(group.peers[child], header, bytes)) continue;
    if (packet == nullptr) {
      packet = &make(0);
      packet->header = header;
      packet->data = bytes.data();
      packet->size = bytes.size();
      packet->origin_unsent = &unsent;
      packet->unsent = 1;  // this function
      unsent.fetch_add(1, std::memory_order_relaxed);
    }
    post(*packet, group.peers[child]);
  }
  if (packet != nullptr) {
    --packet->unsent;
    settle(*packet);
  }
}

void Multicast::send_direct(Group& group, std::uint32_t member, MulticastHeader header,
                            std::span<const std::byte> bytes) {
  header.group = group.key;
  header.kind = MulticastHeader::Kind::direct;
  header.origin = group.self;
  ++stats_.sent;
  if (try_send(group.peers[member], header, bytes)) return;
  Packet& packet = copy(kNoPeer, header, bytes);
  packet.unsent = 1;
  post(packet, group.peers[member]);
  --packet.unsent;
  settle(packet);
}

bool Multicast::try_send(PeerId peer, const MulticastHeader& header,
                         std::span<const std::byte> bytes) {
  if (peer == kNoPeer) return true;  // lost() has been or will be said
  if (peer >= linked_.size()) linked_.resize(std::size_t{peer} + 1);
  if (!linked_[peer]) {
    linked_[peer] = true;
    port_.counters().add(Counter::multicast_links);
  }
  const Slices slices{{{&header, sizeof header}, {bytes.data(), bytes.size()}}};
  return port_.try_send(peer, id_, slices.data(), bytes.empty() ? 1 : 2);
}

// The packet waits for a credit, or room, towards this peer.
void Multicast::post(Packet& packet, PeerId peer) {
  ++stats_.blocked;
  Send* send = free_sends_;
  if (send != nullptr) {
    free_sends_ = send->next_free;
  } else {
    send = sends_.emplace_back(std::make_unique<Send>()).get();
  }
  send->packet = &packet;
  send->peer = peer;
  send->type = FrameType::service;
  send->tag = static_cast<std::uint8_t>(id_);
  send->slices = {{{&packet.header, sizeof packet.header}, {packet.data, packet.size}}};
  send->slice_count = packet.size == 0 ? 1 : 2;
  send->done = &Multicast::sent;
  ++packet.unsent;
  if (recovers(packet.header)) rescue_->wait(*send);
  port_.post(peer, *send);
  if (options_.recovery == Suspicion::immediate) rescue_->start();
}

void Multicast::sent(Message* message, Result) {
  auto* send = static_cast<Send*>(message);
  Packet& packet = *std::exchange(send->packet, nullptr);
  Multicast& self = *packet.owner;
  if (send->blocked) self.rescue_->went(*send);
  send->next_free = self.free_sends_;
  self.free_sends_ = send;
  --packet.unsent;
  self.settle(packet);
}

// --- Packets ---

Multicast::Packet& Multicast::make(std::size_t size) {
  const std::size_t capacity = room_for(size);
  auto& spare = free_packets_[capacity];
  Packet* packet = nullptr;
  if (!spare.empty()) {
    packet = spare.back();
    spare.pop_back();
    spare_ -= capacity;
  } else {
    packet = new Packet;
    packet->owner = this;
    packet->capacity = capacity;
    packet->storage = std::make_unique_for_overwrite<std::byte[]>(capacity);
  }
  ++packets_;
  return *packet;
}

Multicast::Packet& Multicast::copy(PeerId from, const MulticastHeader& header,
                                   std::span<const std::byte> bytes) {
  Packet& packet = make(bytes.size());
  packet.from = from;
  packet.header = header;
  packet.data = packet.storage.get();
  packet.size = bytes.size();
  if (!bytes.empty()) std::memcpy(packet.storage.get(), bytes.data(), bytes.size());
  ++stats_.copied;
  return packet;
}

// The packet stays, and keeps no receive buffer for it, however long it stays.
void Multicast::store(Packet& packet) {
  if (packet.stored) return;
  packet.stored = true;
  const std::size_t cost = packet.size + kPacketCost;
  packet.store->bytes += cost;
  stats_.stored += cost;
  stats_.most_stored = std::max(stats_.most_stored, stats_.stored);
  give_back(packet);
}

void Multicast::unstore(Packet& packet) noexcept {
  if (!std::exchange(packet.stored, false)) return;
  const std::size_t cost = packet.size + kPacketCost;
  packet.store->bytes -= cost;
  stats_.stored -= cost;
}

void Multicast::give_back(Packet& packet) {
  if (std::exchange(packet.holds_credit, false)) give_back(packet.from, packet.header);
}

// The receive buffer of a packet is free: the tree parent gets its credit, or a channel its buffer.
void Multicast::give_back(PeerId from, const MulticastHeader& header) {
  if (!recovers(header) || !rescue_->release(header)) port_.release(from);
}

// Gives back what the packet no longer needs: the receive buffer, then the packet itself.
void Multicast::settle(Packet& packet) {
  if (packet.unsent != 0) return;
  if (packet.in_backlog) rescue_->leave_backlog(packet);
  if (packet.origin_unsent != nullptr)
    std::exchange(packet.origin_unsent, nullptr)->fetch_sub(1, std::memory_order_release);
  if (packet.kept) {
    store(packet);
  } else {
    give_back(packet);
    dispose(packet);
  }
}

void Multicast::dispose(Packet& packet) noexcept {
  unstore(packet);
  packet.store.reset();
  --packets_;
  if (spare_ + packet.capacity <= limits::kMulticastSpares) {
    spare_ += packet.capacity;
    free_packets_[packet.capacity].push_back(&packet);
  } else {
    delete &packet;
  }
}

void Multicast::release(Packet& packet) {
  packet.kept = false;
  settle(packet);
}

// --- Receiving ---

Service::Verdict Multicast::on_frame(PeerId peer, FrameType type,
                                     std::span<const std::byte> payload) {
  if (type == FrameType::service) return on_packet(peer, nullptr, payload);
  Recovery::Channel channel;
  if (rescue_ == nullptr || payload.size() < sizeof channel) return Verdict::malformed;
  std::memcpy(&channel, payload.data(), sizeof channel);
  payload = payload.subspan(sizeof channel);
  if (type == FrameType::service_data) return on_packet(peer, &channel, payload);
  const bool sound = payload.empty() && rescue_->clear(channel, peer);
  return sound ? Verdict::release : Verdict::malformed;
}

Service::Verdict Multicast::on_packet(PeerId peer, const Recovery::Channel* channel,
                                      std::span<const std::byte> payload) {
  if (payload.size() < sizeof(MulticastHeader)) return Verdict::malformed;
  const auto header = load_pod<MulticastHeader>(payload.data());
  const auto bytes = payload.subspan(sizeof header);
  if (header.kind > MulticastHeader::Kind::last_ || bytes.size() > max_packet())
    return Verdict::malformed;
  if (last_ == nullptr || last_->key != header.group) {
    const auto found = groups_.find(header.group);
    last_ = found == groups_.end() ? nullptr : found->second.get();
  }
  if (channel != nullptr && !rescue_->enter(last_, peer, header, *channel))
    return Verdict::malformed;
  if (last_ == nullptr) {
    if (header.kind == MulticastHeader::Kind::lost) return Verdict::release;
    ++stats_.early;
    if (early_store_->full()) return Verdict::malformed;
    return set_aside(early_[header.group], early_store_, peer, header, bytes);
  }
  if (options_.forward_in_host && header.kind == MulticastHeader::Kind::tree &&
      !last_->store->full())
    return set_aside(last_->deferred, last_->store, peer, header, bytes);
  return accept(*last_, peer, header, bytes, nullptr);
}

Service::Verdict Multicast::set_aside(std::vector<Packet*>& list,
                                      const std::shared_ptr<Store>& store, PeerId from,
                                      const MulticastHeader& header,
                                      std::span<const std::byte> bytes) {
  Packet& packet = copy(from, header, bytes);
  packet.store = store;
  packet.kept = true;
  packet.holds_credit = true;
  list.push_back(&packet);
  settle(packet);
  return Verdict::hold;
}

void Multicast::replay(Group& group, std::vector<Packet*>& list) {
  for (Packet* packet : list) {
    unstore(*packet);
    packet->store = group.store;
    packet->kept = false;
    packet->unsent = 1;  // this function
    // Malformed: its sender has long gone on; the packet is dropped and the group is useless.
    if (accept(group, packet->from, packet->header, bytes(*packet), packet) == Verdict::malformed)
      give_up(group);
    if (packet->kept || packet->unsent > 1) store(*packet);
    --packet->unsent;
    settle(*packet);
  }
}

void Multicast::serve(Group& group) {
  std::vector<Packet*> list;
  list.swap(group.deferred);
  replay(group, list);
}

bool Multicast::Group::is_sound(const ServicePort& port, PeerId from,
                                const MulticastHeader& header) const {
  if (header.origin >= membership.size() || header.origin == self) return false;
  if (header.kind != MulticastHeader::Kind::tree) return is_member(port, header.origin, from);
  const Tree tree{header.shape, header.fan, membership.size(), header.origin};
  return tree.valid() && membership.in_tree(header.origin, self) &&
         comes_from_parent(port, from, header);
}

// To those who have a credit at once; the others wait for own_copy().
template <class OwnCopy>
void Multicast::forward(Group& group, const MulticastHeader& header,
                        std::span<const std::byte> bytes, OwnCopy& own_copy) {
  for (const std::uint32_t child :
       group.membership.children({header.shape, header.fan}, header.origin, group.self)) {
    ++stats_.forwarded;
    if (!try_send(group.peers[child], header, bytes)) post(own_copy(), group.peers[child]);
  }
}

// From a link's memory, or, with `packet`, from there: then what it keeps and who waits for it is
// noted in it, for the caller to settle.
Service::Verdict Multicast::accept(Group& group, PeerId from, const MulticastHeader& header,
                                   std::span<const std::byte> bytes, Packet* packet) {
  if (!group.is_sound(port_, from, header)) return Verdict::malformed;
  if (header.kind == MulticastHeader::Kind::lost) {
    const Reason reason = header.tag > static_cast<std::uint8_t>(Reason::last_)
                              ? Reason::loss
                              : static_cast<Reason>(header.tag);
    if (!std::exchange(group.lost, true)) group.receiver->lost(reason);
    return Verdict::release;
  }
  Packet* const given = packet;
  const auto own_copy = [&]() -> Packet& {
    if (packet == nullptr) {
      packet = &copy(from, header, bytes);
      packet->store = group.store;
      packet->unsent = 1;  // this function
      packet->holds_credit = true;
    }
    return *packet;
  };
  const bool tree = header.kind == MulticastHeader::Kind::tree;
  Receiver::Answer answer = Receiver::Answer::taken;
  if (group.store->full()) {
    give_up(group);
  } else {
    if (tree) forward(group, header, bytes, own_copy);
    ++stats_.taken;
    answer = group.receiver->take(header, bytes);
  }
  if (answer == Receiver::Answer::keep) {
    own_copy().kept = true;
    group.receiver->keep(*packet);
  }
  // The last hop is not to blame, who only passes it on: the group ends, not the connection.
  if (answer == Receiver::Answer::malformed && tree) {
    give_up(group);
    answer = Receiver::Answer::taken;
  }
  if (recovers(header)) {
    rescue_->extend(header);
    if (packet != nullptr && packet->unsent > 1) rescue_->join_backlog(*packet);
  }
  Verdict verdict = Verdict::release;
  if (given != nullptr) {
    // the caller's
  } else if (packet != nullptr) {
    --packet->unsent;
    settle(*packet);
    verdict = Verdict::hold;
  } else if (recovers(header)) {
    give_back(from, header);
    verdict = Verdict::hold;
  }
  return answer == Receiver::Answer::malformed ? Verdict::malformed : verdict;
}

// --- Loss ---

void Multicast::on_lost(PeerId peer) {
  if (rescue_ != nullptr) rescue_->lose(peer);
  for (auto& [key, group] : groups_) {
    const auto& peers = group->peers;
    if (std::find(peers.begin(), peers.end(), peer) != peers.end()) give_up(*group);
  }
}

// Others may wait for the lost member through us, or for us through it: everybody is told.
void Multicast::give_up(Group& group, Reason reason) {
  if (std::exchange(group.lost, true)) return;
  group.receiver->lost(reason);
  for (std::uint32_t member = 0; member < group.membership.size(); ++member)
    if (member != group.self) give_up(group, member, reason);
}

void Multicast::give_up(Group& group, std::uint32_t member, Reason reason) {
  const PeerId peer = group.peers[member];
  if (peer == kNoPeer || port_.is_broken(peer)) return;
  MulticastHeader header;
  header.kind = MulticastHeader::Kind::lost;
  header.tag = static_cast<std::uint8_t>(reason);
  header.group = group.key;
  header.origin = group.self;
  if (try_send(peer, header, {})) return;
  Packet& packet = copy(kNoPeer, header, {});
  packet.unsent = 1;
  post(packet, peer);
  --packet.unsent;
  settle(packet);
}

}  // namespace lfc
