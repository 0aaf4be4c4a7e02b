#include "services/push/push.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"

namespace lfc {
namespace {

// Messages that are not pushed after one that was dropped.
constexpr std::uint32_t kPause = 256;
// Spare buffers for the next messages.
constexpr std::size_t kSpareMemory = 8;
// Bytes: a sender with more than kStream under way requests acknowledgements; a receiver sends them for kAckBytes.
const std::size_t kStream = limits::kPushShare / 4;
const std::size_t kAckBytes = limits::kPushShare / 8;

}  // namespace

Push::Push(ServicePort& port, HostPort& engine, std::size_t largest)
    : port_(port),
      engine_(engine),
      largest_(std::min(largest, limits::kPushMessage)),
      fragment_(std::min(limits::kPushFragment, port.max_payload() - sizeof(Head))),
      host_(
          port, [](void* self) { static_cast<Push*>(self)->call_back(); }, this,
          HostCall::By::thread) {
  port_.attach(ServiceId::push, this);
}

Push::~Push() {
  port_.attach(ServiceId::push, nullptr);
  host_.end();
}

Push::Peer& Push::at(PeerId peer) {
  if (peer >= peers_.size()) peers_.resize(peer + 1);
  if (peers_[peer] == nullptr) peers_[peer] = std::make_unique<Peer>();
  return *peers_[peer];
}

Push::Offered* Push::find_offered(Peer& peer, std::uint64_t number) noexcept {
  for (Offered& offered : peer.offered)
    if (offered.number == number) return &offered;
  return nullptr;
}

Push::Arrival* Push::find(Peer& peer, std::uint64_t number) noexcept {
  for (Arrival& arrival : peer.arrivals) {
    if (arrival.number == number) return &arrival;
  }
  return nullptr;
}

// --- Sender ---

std::uint64_t Push::offer(PeerId id, std::size_t size) {
  if (size > largest_) return 0;
  bool full = false;
  std::uint64_t number = try_offer(id, size, full);
  if (full && !engine_.has_threads() && engine_.pass_away() > 0) number = try_offer(id, size, full);
  return number;
}

std::uint64_t Push::try_offer(PeerId id, std::size_t size, bool& full) {
  const ServicePort::Access access(port_);
  if (port_.link_traits(id).copies_at_once) return 0;
  Peer& peer = at(id);
  if (peer.pause > 0) {
    --peer.pause;
    return 0;
  }
  full = peer.under_way + size > limits::kPushShare;
  if (full) return 0;
  peer.offered.push_back(
      {++peer.last, static_cast<std::uint32_t>(size), peer.under_way > kStream ? 1u : 0u});
  peer.under_way += size;
  return peer.last;
}

bool Push::send_rts(PeerId id, std::uint8_t tag, const Slice* slices, int count) {
  const ServicePort::Access access(port_);
  return port_.try_send_rts(id, tag, slices, count);
}

void Push::push(PeerId id, std::uint64_t number, const void* data, std::size_t size) {
  const ServicePort::Access access(port_);
  Offered* const offered = find_offered(at(id), number);
  if (offered == nullptr) return;
  const auto* bytes = static_cast<const std::byte*>(data);
  const std::size_t fragment = fragment_to(id);
  Head head{number, static_cast<std::uint32_t>(size), offered->wants_ack, 0};
  while (head.offset < size) {
    const std::size_t part = std::min<std::size_t>(size - head.offset, fragment);
    const Slice slices[2] = {{&head, sizeof head}, {bytes + head.offset, part}};
    if (offered->waiting > 0 || !port_.try_send(id, ServiceId::push, slices, 2)) {
      Packet packet = port_.packets().make(ServiceId::push);
      packet.set_head(&head, sizeof head);
      packet.lend(slices[1]);
      if (!port_.packets().send(id, std::move(packet), number)) ++offered->waiting;
    }
    head.offset += part;
  }
  if (offered->waiting > 0) port_.flush(id);  // the RTS must not wait for the fragments
  port_.counters().add(Counter::pushes);
}

// Returns the bytes of a message in one frame.
std::size_t Push::fragment_to(PeerId id) const noexcept {
  const std::size_t placed = port_.link_traits(id).placed_payload;
  return placed > sizeof(Head) ? placed - sizeof(Head) : fragment_;
}

void Push::on_left(PeerId id, std::uint64_t number, Result) {
  if (Offered* const offered = find_offered(at(id), number)) --offered->waiting;
}

void Push::release(PeerId id, std::uint64_t number) {
  const ServicePort::Access access(port_);
  Peer& peer = at(id);
  Offered* const offered = find_offered(peer, number);
  if (offered == nullptr) return;
  if (offered->waiting > 0) port_.packets().drop(id, ServiceId::push, number);
  peer.taken(*offered);
  peer.offered.erase(peer.offered.begin() + (offered - peer.offered.data()));
}

// --- Receiver ---

bool Push::fetch(PeerId id, std::uint64_t number, void* place, std::size_t size,
                 Operation* operation) {
  {
    const ServicePort::Access access(port_);
    Peer& peer = at(id);
    Arrival* arrival = find(peer, number);
    if (arrival == nullptr) {
      // It was dropped, or a later message came instead, or the peer is lost.
      if (number <= peer.seen || port_.is_lost(id)) return false;
      arrival = &peer.arrivals.emplace_back();
      arrival->number = number;
      arrival->total = size;
    }
    if (arrival->total != size || arrival->place != nullptr) return false;
    arrival->place = static_cast<std::byte*>(place);
    arrival->operation = operation;
    if (arrival->own != nullptr) {
      std::memcpy(place, arrival->own.get(), arrival->arrived);
      keep_memory(std::move(arrival->own));
      peer.kept -= size;
    }
    if (arrival->arrived < size) return true;
    acknowledge(id, peer, *arrival);
    erase(peer, *arrival);
  }
  operation->done(operation, Result::ok);
  return true;
}

Service::Verdict Push::on_frame(PeerId id, FrameType type, std::span<const std::byte> payload) {
  Peer& peer = at(id);
  if (type == FrameType::service_ack) return on_word(id, payload);
  if (type != FrameType::service || payload.size() <= sizeof(Head)) return Verdict::malformed;
  const auto head = load_pod<Head>(payload.data());
  const std::span<const std::byte> bytes = payload.subspan(sizeof head);
  if (head.offset > head.total || bytes.size() > head.total - head.offset)
    return Verdict::malformed;

  Arrival* arrival = find(peer, head.number);
  if (arrival == nullptr) arrival = begin(id, peer, head);
  if (arrival == nullptr) return Verdict::release;  // the receiver will fetch it from the region
  if (!arrival->expects(head, 0, bytes.size())) return Verdict::malformed;
  arrival->wants_ack = head.wants_ack != 0;
  std::memcpy(arrival->start() + head.offset, bytes.data(), bytes.size());
  arrived(id, peer, *arrival, bytes.size());
  return Verdict::release;
}

// Handles acknowledgements of messages that this process has pushed.
Service::Verdict Push::on_word(PeerId id, std::span<const std::byte> payload) {
  Peer& peer = at(id);
  if (payload.empty() || payload.size() % sizeof(std::uint64_t) != 0) return Verdict::malformed;
  for (; !payload.empty(); payload = payload.subspan(sizeof(std::uint64_t))) {
    const auto word = load_pod<std::uint64_t>(payload.data());
    if ((word & kDropped) != 0) peer.pause = kPause;
    for (Offered& offered : peer.offered)
      if (offered.number == (word & ~kDropped)) peer.taken(offered);
  }
  return Verdict::release;
}

// Null also for a malformed frame: on_frame() then rejects it.
std::byte* Push::place(PeerId id, const Placing& frame) {
  Peer& peer = at(id);
  const auto head = load_pod<Head>(frame.head.data());
  Arrival* arrival = find(peer, head.number);
  if (arrival == nullptr && frame.landed == 0 && head.total >= frame.left)
    arrival = begin(id, peer, head);
  if (arrival == nullptr || !arrival->expects(head, frame.landed, frame.left)) return nullptr;
  return arrival->start() + arrival->arrived;
}

Service::Verdict Push::on_placed(PeerId id, const Placing& frame) {
  Peer& peer = at(id);
  const auto head = load_pod<Head>(frame.head.data());
  Arrival* arrival = find(peer, head.number);
  if (arrival == nullptr) return Verdict::release;  // it has been dropped meanwhile
  const std::uint64_t end = head.offset + frame.landed;
  if (end < arrival->arrived || end > arrival->total) return Verdict::malformed;
  arrival->wants_ack = head.wants_ack != 0;
  arrived(id, peer, *arrival, end - arrival->arrived);
  return Verdict::release;
}

// Notes that the next bytes of a message are in place.
void Push::arrived(PeerId id, Peer& peer, Arrival& arrival, std::uint64_t bytes) {
  arrival.arrived += bytes;
  peer.seen = std::max(peer.seen, arrival.number);
  if (arrival.arrived < arrival.total || arrival.place == nullptr) return;
  end(arrival.operation, Result::ok);
  acknowledge(id, peer, arrival);
  erase(peer, arrival);
}

// Notes that a message has been taken. If it is never acknowledged, its release frees the sender's share.
void Push::acknowledge(PeerId id, Peer& peer, const Arrival& arrival) {
  if (!arrival.wants_ack) return;
  peer.unacknowledged.push_back(arrival.number);
  peer.unacknowledged_bytes += arrival.total;
  if (peer.unacknowledged.size() < kMostAcks && peer.unacknowledged_bytes < kAckBytes) return;
  port_.control(id, ServiceId::push, peer.unacknowledged.data(),
                peer.unacknowledged.size() * sizeof(std::uint64_t));
  peer.unacknowledged.clear();
  peer.unacknowledged_bytes = 0;
}

// Null: the rest of a message that was dropped, or a message that is too large to be kept.
Push::Arrival* Push::begin(PeerId id, Peer& peer, const Head& head) {
  peer.seen = std::max(peer.seen, head.number);
  if (head.offset != 0 || head.total > limits::kPushMessage) return nullptr;
  make_room(id, peer, head.total);
  Arrival& arrival = peer.arrivals.emplace_back();
  arrival.number = head.number;
  arrival.total = head.total;
  arrival.own = take_memory();
  peer.kept += head.total;
  return &arrival;
}

std::unique_ptr<std::byte[]> Push::take_memory() {
  if (spare_memory_.empty())
    return std::make_unique_for_overwrite<std::byte[]>(limits::kPushMessage);
  std::unique_ptr<std::byte[]> memory = std::move(spare_memory_.back());
  spare_memory_.pop_back();
  return memory;
}

void Push::keep_memory(std::unique_ptr<std::byte[]> memory) {
  if (spare_memory_.size() < kSpareMemory) spare_memory_.push_back(std::move(memory));
}

// Drops the oldest messages that are not fetched, and notifies their sender of each.
void Push::make_room(PeerId id, Peer& peer, std::size_t size) {
  while (peer.kept + size > limits::kPushShare) {
    const auto oldest = std::find_if(peer.arrivals.begin(), peer.arrivals.end(),
                                     [](const Arrival& arrival) { return arrival.own != nullptr; });
    const std::uint64_t dropped = oldest->number | kDropped;
    port_.control(id, ServiceId::push, &dropped, sizeof dropped);
    peer.kept -= oldest->total;
    erase(peer, *oldest);
    port_.counters().add(Counter::pushes_dropped);
  }
}

void Push::erase(Peer& peer, Arrival& arrival) noexcept {
  if (arrival.own != nullptr) keep_memory(std::move(arrival.own));
  peer.arrivals.erase(std::find_if(peer.arrivals.begin(), peer.arrivals.end(),
                                   [&](const Arrival& one) { return &one == &arrival; }));
}

void Push::on_lost(PeerId id) {
  if (id >= peers_.size() || peers_[id] == nullptr) return;
  Peer& peer = *peers_[id];
  for (Arrival& arrival : peer.arrivals) {
    if (arrival.operation != nullptr) end(arrival.operation, Result::unreachable);
  }
  peer.arrivals.clear();
  peer.kept = 0;
}

void Push::end(Operation* operation, Result result) {
  ended_.push_back({operation, result});
  host_.request();
}

void Push::call_back() {
  std::vector<Ended> ended;
  {
    const ServicePort::Access access(port_);
    ended.swap(ended_);
  }
  const HostPort::Together together(engine_);
  for (const Ended& one : ended) one.operation->done(one.operation, one.result);
}

std::size_t Push::kept(PeerId peer) {
  const ServicePort::Access access(port_);
  return at(peer).kept;
}

}  // namespace lfc
