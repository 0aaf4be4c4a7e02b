#include "engine/remote_origin.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/faults.hpp"

namespace lfc {
namespace {

bool is_inside(const RegionHandle& region, std::uint64_t address, std::size_t size) noexcept {
  return address >= region.address && address - region.address <= region.size &&
         size <= region.size - (address - region.address);
}

Result result_from_wire(std::uint32_t value) noexcept {
  return value <= wire(Result::not_supported) ? static_cast<Result>(value) : Result::not_supported;
}

void count_native(Counters& counters, RemoteOp::Type type, std::size_t size) noexcept {
  const bool put = type == RemoteOp::Type::put;
  counters.add(put ? Counter::put_native_bytes : Counter::get_native_bytes, size);
  counters.add(put ? Counter::bytes_sent : Counter::bytes_received, size);
}

// Lets the link begin an operation. `failed`, for a put with a notification: this link cannot notify.
Link::Start start_in_link(Link& link, RemoteOp& op) noexcept {
  if (op.notification)
    return op.native
               ? link.put_notified(op.peer, op.local, op.local_link, op.address, op.remote_link,
                                   op.size, *op.notification, &op.link_operation)
               : Link::Start::failed;
  if (op.type == RemoteOp::Type::put)
    return link.put(op.peer, op.local, op.local_link, op.address, op.remote_link, op.size,
                    &op.link_operation);
  return link.get(op.peer, op.local, op.local_link, op.address, op.remote_link, op.size,
                  &op.link_operation);
}

// Returns whether the peer's link may copy within a call now.
bool copies_now(const Peer& peer) noexcept {
  return peer.state == Peer::State::connected && peer.waiting.empty() &&
         peer.link->traits().copies_at_once && peer.link->remote_memory(peer.id);
}

}  // namespace

// --- Regions ---

bool RemoteOrigin::register_memory(void* data, std::size_t size, std::uint32_t access,
                                   RegionHandle& out) {
  const SendLock::Guard guard(lock_);
  out = regions_.add(data, size, access);
  const auto& links = peers_.links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i]->register_memory(data, size, out.of(*links[i]))) continue;
    for (std::size_t done = 0; done < i; ++done)
      links[done]->deregister_memory(out.of(*links[done]));
    regions_.remove(out);
    return false;
  }
  counters_.add(Counter::registrations);
  return true;
}

bool RemoteOrigin::registration_costs() const noexcept {
  return std::any_of(peers_.links().begin(), peers_.links().end(),
                     [](const auto& link) { return link->traits().registration_costs; });
}

void RemoteOrigin::deregister_memory(RegionHandle& handle) noexcept {
  const SendLock::Guard guard(lock_);
  for (const auto& link : peers_.links()) link->deregister_memory(handle.of(*link));
  regions_.remove(handle);
}

// --- Origin ---

void RemoteOrigin::put(PeerId peer, const void* source, const RegionHandle* local,
                       std::uint64_t address, const RegionHandle& remote, std::size_t size,
                       Operation* operation) noexcept {
  transfer(peer, RemoteOp::Type::put, const_cast<void*>(source), local, address, remote, size,
           operation);
}

void RemoteOrigin::get(PeerId peer, void* destination, const RegionHandle* local,
                       std::uint64_t address, const RegionHandle& remote, std::size_t size,
                       Operation* operation) noexcept {
  transfer(peer, RemoteOp::Type::get, destination, local, address, remote, size, operation);
}

void RemoteOrigin::fetch(PeerId peer, void* destination, const RegionHandle* local,
                         std::uint64_t address, const RegionHandle& remote, std::size_t size,
                         Operation* operation) noexcept {
  transfer(peer, RemoteOp::Type::get, destination, local, address, remote, size, operation, true);
}

void RemoteOrigin::atomic(PeerId id, const AtomicRequest& request, std::uint64_t address,
                          const RegionHandle& remote, void* result, Operation* operation) noexcept {
  Peer& peer = peers_.at(id);
  counters_.add(Counter::atomics);
  RemoteOp& op =
      begin(peer, RemoteOp::Type::atomic, result, address, remote, request.width, operation);
  op.request = request;
  if (is_aligned(address, request.width)) {
    sender_.post(peer, peer.waiting, op);
  } else {
    finish(op, Result::bad_address);
  }
}

void RemoteOrigin::transfer(PeerId id, RemoteOp::Type type, void* memory, const RegionHandle* local,
                            std::uint64_t address, const RegionHandle& remote, std::size_t size,
                            Operation* operation, bool by_rts) {
  Peer& peer = peers_.at(id);
  RemoteOp& op = begin(peer, type, memory, address, remote, size, operation);
  op.choice.reset();
  if (!is_inside(remote, address, size)) {
    finish(op, Result::bad_address);
  } else if (size == 0) {
    finish(op, Result::ok);
  } else {
    if (peers_.connect(peer) && peer.link->remote_memory(id)) {
      op.native = true;
      op.remote_link = remote.of(*peer.link);
      op.local_link = local != nullptr ? local->of(*peer.link) : LinkRegion{};
      if (by_rts && peer.link->traits().either_way) ways_.choose(op);
    }
    sender_.post(peer, peer.waiting, op);
  }
}

void RemoteOrigin::put_notified(PeerId id, const void* source, const RegionHandle* local,
                                std::uint64_t address, const RegionHandle& remote, std::size_t size,
                                ServiceId service, std::uint32_t value,
                                Operation* operation) noexcept {
  Peer& peer = peers_.at(id);
  RemoteOp& op =
      begin(peer, RemoteOp::Type::put, const_cast<void*>(source), address, remote, size, operation);
  op.notification = notification_word(service, value);
  op.choice.reset();
  if (!is_inside(remote, address, size)) {
    finish(op, Result::bad_address);
  } else {
    op.native = peers_.connect(peer) && peer.link->traits().notified_puts;
    if (op.native) op.remote_link = remote.of(*peer.link);
    op.local_link = op.native && local != nullptr ? local->of(*peer.link) : LinkRegion{};
    sender_.post(peer, peer.waiting, op);
  }
}

bool RemoteOrigin::put_at_once(PeerId peer, const void* source, std::uint64_t address,
                               const RegionHandle& remote, std::size_t size) noexcept {
  return transfer_at_once(peer, RemoteOp::Type::put, const_cast<void*>(source), address, remote,
                          size);
}

bool RemoteOrigin::get_at_once(PeerId peer, void* destination, std::uint64_t address,
                               const RegionHandle& remote, std::size_t size) noexcept {
  return transfer_at_once(peer, RemoteOp::Type::get, destination, address, remote, size);
}

bool RemoteOrigin::transfer_at_once(PeerId id, RemoteOp::Type type, void* memory,
                                    std::uint64_t address, const RegionHandle& remote,
                                    std::size_t size) noexcept {
  const Peer& peer = peers_.at(id);
  if (!is_inside(remote, address, size) || !copies_now(peer)) return false;
  const LinkRegion& there = remote.of(*peer.link);
  const Link::Start start = type == RemoteOp::Type::put
                                ? peer.link->put(id, memory, {}, address, there, size, nullptr)
                                : peer.link->get(id, memory, {}, address, there, size, nullptr);
  if (start != Link::Start::done) return false;
  count_native(counters_, type, size);
  return true;
}

bool RemoteOrigin::put_pieces_at_once(PeerId id, std::span<const CopyPiece> pieces,
                                      const RegionHandle& remote) noexcept {
  const Peer& peer = peers_.at(id);
  std::size_t bytes = 0;
  for (const CopyPiece& piece : pieces) {
    if (!is_inside(remote, piece.to, piece.size)) return false;
    bytes += piece.size;
  }
  if (!copies_now(peer) || fault(Fault::copy_refused) ||
      !peer.link->put_pieces(id, pieces, remote.of(*peer.link)))
    return false;
  count_native(counters_, RemoteOp::Type::put, bytes);
  return true;
}

RemoteOp& RemoteOrigin::begin(Peer& peer, RemoteOp::Type type, void* local, std::uint64_t address,
                              const RegionHandle& remote, std::size_t size, Operation* operation) {
  RemoteOp& op = operations_.take();
  op.operation = operation;
  op.link_operation.done = &RemoteOrigin::link_finished;
  op.link_operation.origin = this;
  op.link_operation.op = &op;
  op.peer = peer.id;
  op.type = type;
  op.region = {remote.id, remote.generation};
  op.local = static_cast<std::byte*>(local);
  op.address = address;
  op.size = size;
  op.notification.reset();
  ++peer.outstanding;
  return op;
}

Sender::Step RemoteOrigin::send(Peer& peer, Waiting& item) {
  if (item.kind == Waiting::Kind::service)
    return target_.send_data(peer, static_cast<GetService&>(item));
  auto& op = static_cast<RemoteOp&>(item);
  if (op.native || op.notification) return send_native(peer, op);
  bool all_sent = true;
  const Sender::Attempt attempt = send_frame(peer, op, all_sent);
  if (attempt != Sender::Attempt::sent) return sender_.wait(peer, attempt);
  if (!all_sent) return Sender::Step::progressed;
  peer.waiting.pop();
  op.stage = RemoteOp::Stage::reply_due;
  return Sender::Step::finished;
}

Sender::Attempt RemoteOrigin::send_frame(Peer& peer, RemoteOp& op, bool& all_sent) {
  switch (op.type) {
    case RemoteOp::Type::put: {
      const Sender::Attempt attempt = send_put(peer, op);
      all_sent = op.offset == op.size;
      return attempt;
    }
    case RemoteOp::Type::get: {
      const GetPayload payload{RemoteOpTable::reference(op), op.region, op.address, op.size};
      const Slice slice{&payload, sizeof payload};
      return sender_.send(peer, FrameType::get, 0, &slice, 1);
    }
    case RemoteOp::Type::atomic: break;
  }
  AtomicPayload payload{};
  payload.operation = RemoteOpTable::reference(op);
  payload.region = op.region;
  payload.address = op.address;
  payload.operand = op.request.operand;
  payload.compare = op.request.compare;
  payload.op = static_cast<std::uint8_t>(op.request.op);
  payload.width = op.request.width;
  const Slice slice{&payload, sizeof payload};
  return sender_.send(peer, FrameType::atomic, 0, &slice, 1);
}

Sender::Attempt RemoteOrigin::send_put(Peer& peer, RemoteOp& op) {
  const PutPayload head{RemoteOpTable::reference(op), op.region, op.address + op.offset, op.size};
  const std::size_t room = peer.link->max_payload() - sizeof head;
  const std::size_t size = std::min<std::size_t>(op.size - op.offset, room);
  const Slice slices[] = {{&head, sizeof head}, {op.local + op.offset, size}};
  const Sender::Attempt attempt = sender_.send(peer, FrameType::put, 0, slices, 2);
  if (attempt == Sender::Attempt::sent) {
    op.offset += size;
    counters_.add(Counter::put_frames_bytes, size);
  }
  return attempt;
}

// A put with a notification takes a receive buffer at the peer, as a frame of a service does.
Sender::Step RemoteOrigin::send_native(Peer& peer, RemoteOp& op) {
  if (op.notification && !peer.flow.may_depart(FrameType::service))
    return sender_.wait(peer, Sender::Attempt::no_credit);
  if (fault(Fault::copy_refused)) return sender_.wait(peer, Sender::Attempt::no_room);
  const std::uint64_t began = op.choice ? MessageWays::now() : 0;
  const Link::Start start = start_in_link(*peer.link, op);
  if (op.notification && start != Link::Start::again) {
    peer.stall_counted = false;
    if (start != Link::Start::failed) {
      peer.flow.departed(FrameType::service, 0);
      counters_.add(Counter::puts_notified);
    }
  }
  switch (start) {
    case Link::Start::again: return sender_.wait(peer, Sender::Attempt::no_room);
    case Link::Start::failed:
      if (op.notification) {
        peer.waiting.pop();
        finish(op, Result::not_supported);
        return Sender::Step::finished;
      }
      op.native = false;
      op.choice.reset();  // no second way is left
      return Sender::Step::progressed;
    case Link::Start::started:
      peer.waiting.pop();
      count_native(counters_, op.type, op.size);
      op.stage = RemoteOp::Stage::in_link;
      return Sender::Step::finished;
    case Link::Start::done: break;
  }
  peer.waiting.pop();
  count_native(counters_, op.type, op.size);
  if (op.choice) ways_.copied(op, began);
  finish(op, Result::ok);
  return Sender::Step::finished;
}

void RemoteOrigin::link_finished(Operation* self, Result result) {
  auto& link_operation = *static_cast<RemoteOp::LinkOperation*>(self);
  link_operation.origin->finish(*link_operation.op, result);
}

void RemoteOrigin::finish(RemoteOp& op, Result result) noexcept {
  op.stage = RemoteOp::Stage::finished;
  op.result = result;
  --peers_.at(op.peer).outstanding;
  outcomes_.add(op);
}

std::size_t RemoteOrigin::outstanding(PeerId id) noexcept {
  const SendLock::Guard guard(lock_);
  return peers_.at(id).outstanding;
}

bool RemoteOrigin::is_native(PeerId id) noexcept {
  return peers_.connect(peers_.at(id)) && peers_.at(id).link->remote_memory(id);
}

bool RemoteOrigin::fetch_is_faster(PeerId id, std::size_t size) noexcept {
  const SendLock::Guard guard(lock_);
  Peer& peer = peers_.at(id);
  return !peers_.connect(peer) || !peer.link->remote_memory(id) ||
         size >= peer.link->traits().remote_memory_from;
}

// --- Replies to the origin ---

bool RemoteOrigin::accept(Peer& peer, FrameType type, std::span<const std::byte> payload) {
  switch (type) {
    case FrameType::get_data: return accept_get_data(peer, payload);
    case FrameType::put_ack:
    case FrameType::atomic_reply: return accept_ack(peer, type, payload);
    default: return target_.serve(peer, type, payload);
  }
}

bool RemoteOrigin::accept_get_data(Peer& peer, std::span<const std::byte> payload) {
  if (payload.size() < sizeof(AckPayload)) return false;
  const auto head = load_pod<AckPayload>(payload.data());
  RemoteOp* op = operations_.find(head.operation, peer.id);
  if (op == nullptr || op->type != RemoteOp::Type::get || op->stage != RemoteOp::Stage::reply_due)
    return false;
  if (head.result != wire(Result::ok)) {
    finish(*op, result_from_wire(head.result));
    return true;
  }
  const std::span<const std::byte> bytes = payload.subspan(sizeof head);
  if (head.value != op->offset || bytes.empty() || bytes.size() > op->size - op->offset)
    return false;
  std::memcpy(op->local + op->offset, bytes.data(), bytes.size());
  op->offset += bytes.size();
  counters_.add(Counter::get_frames_bytes, bytes.size());
  if (op->offset < op->size) return true;
  if (op->choice) ways_.streamed(*op);
  finish(*op, Result::ok);
  return true;
}

bool RemoteOrigin::accept_ack(Peer& peer, FrameType type, std::span<const std::byte> payload) {
  if (payload.size() != sizeof(AckPayload)) return false;
  const auto ack = load_pod<AckPayload>(payload.data());
  RemoteOp* op = operations_.find(ack.operation, peer.id);
  const auto expected = type == FrameType::put_ack ? RemoteOp::Type::put : RemoteOp::Type::atomic;
  if (op == nullptr || op->type != expected || op->stage != RemoteOp::Stage::reply_due)
    return false;
  if (type == FrameType::atomic_reply && op->local != nullptr && ack.result == wire(Result::ok))
    std::memcpy(op->local, &ack.value, op->request.width);
  finish(*op, result_from_wire(ack.result));
  return true;
}

// --- The end of an operation ---

void RemoteOrigin::fail(Waiting& item) {
  if (item.kind == Waiting::Kind::service) {
    delete static_cast<GetService*>(&item);
  } else {
    finish(static_cast<RemoteOp&>(item), Result::unreachable);
  }
}

// The link completes operations that it has under way; the rest would wait for a reply in vain.
void RemoteOrigin::on_lost(Peer& peer) {
  peer.incoming_puts.clear();
  operations_.for_each([&](RemoteOp& op) {
    if (op.peer == peer.id && op.stage == RemoteOp::Stage::reply_due)
      finish(op, Result::unreachable);
  });
}

// Waiting operations name memory in terms of the link before.
void RemoteOrigin::on_turned(Peer& peer) {
  for (Waiting* item = peer.waiting.front(); item != nullptr; item = item->next) {
    if (item->kind != Waiting::Kind::operation) continue;
    auto& op = static_cast<RemoteOp&>(*item);
    op.native = false;
    op.choice.reset();
  }
}

void RemoteOrigin::call_back(RemoteOp& op) {
  RemoteOrigin& origin = *op.link_operation.origin;
  Operation* operation = op.operation;
  const Result result = op.result;
  {
    const SendLock::Guard guard(origin.lock_);
    origin.operations_.give_back(op);
  }
  operation->done(operation, result);
}

}  // namespace lfc
