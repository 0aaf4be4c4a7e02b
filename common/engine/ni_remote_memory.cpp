// The NI's part in remote memory: as origin it starts operations, natively where the link can and
// in frames where it cannot; as target it serves frames without its host.
#include <algorithm>
#include <cstring>

#include "base/faults.hpp"
#include "engine/ni.hpp"

namespace lfc {
namespace {

template <class Payload>
bool read_head(std::span<const std::byte> bytes, Payload& out) noexcept {
  if (bytes.size() < sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return true;
}

bool is_inside(const RegionHandle& region, std::uint64_t address, std::size_t size) noexcept {
  return address >= region.address && address - region.address <= region.size &&
         size <= region.size - (address - region.address);
}

constexpr std::uint32_t wire(Result result) noexcept { return static_cast<std::uint32_t>(result); }

Result result_from_wire(std::uint32_t value) noexcept {
  return value <= wire(Result::not_supported) ? static_cast<Result>(value) : Result::not_supported;
}

bool is_aligned(std::uint64_t address, std::uint64_t width) noexcept {
  return (width == 4 || width == 8) && address % width == 0;
}

}  // namespace

// --- Regions ---

bool Ni::register_memory(void* data, std::size_t size, std::uint32_t access, RegionHandle& out) {
  const SendLock::Guard guard(lock_);
  out = regions_.add(data, size, access);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i]->register_memory(data, size, out.links[i])) continue;
    for (std::size_t done = 0; done < i; ++done) links_[done]->deregister_memory(out.links[done]);
    regions_.remove(out);
    return false;
  }
  counters_.add(Counter::registrations);
  return true;
}

bool Ni::registration_costs() const noexcept {
  return std::any_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link->traits().registration_costs; });
}

void Ni::deregister_memory(RegionHandle& handle) noexcept {
  const SendLock::Guard guard(lock_);
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i]->deregister_memory(handle.links[i]);
  regions_.remove(handle);
}

// --- Origin ---

void Ni::put(PeerId peer, const void* source, const RegionHandle* local, std::uint64_t address,
             const RegionHandle& remote, std::size_t size, Operation* operation) noexcept {
  transfer(peer, RemoteOp::Type::put, const_cast<void*>(source), local, address, remote, size,
           operation);
}

void Ni::get(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
             const RegionHandle& remote, std::size_t size, Operation* operation) noexcept {
  transfer(peer, RemoteOp::Type::get, destination, local, address, remote, size, operation);
}

void Ni::atomic(PeerId id, const AtomicRequest& request, std::uint64_t address,
                const RegionHandle& remote, void* result, Operation* operation) noexcept {
  {
    const SendLock::Guard guard(lock_);
    Peer& peer = at(id);
    counters_.add(Counter::atomics);
    RemoteOp& op =
        begin(peer, RemoteOp::Type::atomic, result, address, remote, request.width, operation);
    op.request = request;
    if (is_aligned(address, request.width)) {
      enqueue(peer, peer.waiting, op);
    } else {
      finish(op, Result::bad_address);
    }
  }
  complete_finished();
}

void Ni::transfer(PeerId id, RemoteOp::Type type, void* memory, const RegionHandle* local,
                  std::uint64_t address, const RegionHandle& remote, std::size_t size,
                  Operation* operation) {
  {
    const SendLock::Guard guard(lock_);
    Peer& peer = at(id);
    RemoteOp& op = begin(peer, type, memory, address, remote, size, operation);
    if (!is_inside(remote, address, size)) {
      finish(op, Result::bad_address);
    } else if (size == 0) {
      finish(op, Result::ok);
    } else {
      if (ensure_connected(peer) && peer.link->remote_memory(id)) {
        op.native = true;
        op.remote_link = remote.links[peer.link_index];
        op.local_link = local != nullptr ? local->links[peer.link_index] : LinkRegion{};
      }
      enqueue(peer, peer.waiting, op);
    }
  }
  complete_finished();
}

bool Ni::put_at_once(PeerId peer, const void* source, std::uint64_t address,
                     const RegionHandle& remote, std::size_t size) noexcept {
  return transfer_at_once(peer, RemoteOp::Type::put, const_cast<void*>(source), address, remote,
                          size);
}

bool Ni::get_at_once(PeerId peer, void* destination, std::uint64_t address,
                     const RegionHandle& remote, std::size_t size) noexcept {
  return transfer_at_once(peer, RemoteOp::Type::get, destination, address, remote, size);
}

bool Ni::transfer_at_once(PeerId id, RemoteOp::Type type, void* memory, std::uint64_t address,
                          const RegionHandle& remote, std::size_t size) noexcept {
  const SendLock::Guard guard(lock_);
  const Peer& peer = at(id);
  if (!is_inside(remote, address, size) || peer.state != Peer::State::connected ||
      !peer.waiting.empty() || !peer.link->traits().copies_at_once || !peer.link->remote_memory(id))
    return false;
  const LinkRegion& there = remote.links[peer.link_index];
  const Link::Start start = type == RemoteOp::Type::put
                                ? peer.link->put(id, memory, {}, address, there, size, nullptr)
                                : peer.link->get(id, memory, {}, address, there, size, nullptr);
  if (start != Link::Start::done) return false;
  count_native(type, size);
  return true;
}

RemoteOp& Ni::begin(Peer& peer, RemoteOp::Type type, void* local, std::uint64_t address,
                    const RegionHandle& remote, std::size_t size, Operation* operation) {
  RemoteOp& op = operations_.take();
  op.operation = operation;
  op.link_operation.done = &Ni::link_finished;
  op.link_operation.ni = this;
  op.link_operation.op = &op;
  op.peer = peer.id;
  op.type = type;
  op.region = {remote.id, remote.generation};
  op.local = static_cast<std::byte*>(local);
  op.address = address;
  op.size = size;
  ++peer.outstanding;
  return op;
}

Ni::Step Ni::send_operation(Peer& peer, RemoteOp& op) {
  if (op.native) return send_native(peer, op);
  Attempt attempt = Attempt::sent;
  bool all_sent = true;
  switch (op.type) {
    case RemoteOp::Type::put: {
      const PutPayload head{RemoteOpTable::reference(op), op.region, op.address + op.offset,
                            op.size};
      const std::size_t room = peer.link->max_payload() - sizeof head;
      const std::size_t size = std::min<std::size_t>(op.size - op.offset, room);
      const Slice slices[] = {{&head, sizeof head}, {op.local + op.offset, size}};
      attempt = send_data(peer, FrameType::put, 0, slices, 2);
      if (attempt == Attempt::sent) {
        op.offset += size;
        counters_.add(Counter::put_frames_bytes, size);
      }
      all_sent = op.offset == op.size;
      break;
    }
    case RemoteOp::Type::get: {
      const GetPayload payload{RemoteOpTable::reference(op), op.region, op.address, op.size};
      const Slice slice{&payload, sizeof payload};
      attempt = send_data(peer, FrameType::get, 0, &slice, 1);
      break;
    }
    case RemoteOp::Type::atomic: {
      AtomicPayload payload{};
      payload.operation = RemoteOpTable::reference(op);
      payload.region = op.region;
      payload.address = op.address;
      payload.operand = op.request.operand;
      payload.compare = op.request.compare;
      payload.op = static_cast<std::uint8_t>(op.request.op);
      payload.width = op.request.width;
      const Slice slice{&payload, sizeof payload};
      attempt = send_data(peer, FrameType::atomic, 0, &slice, 1);
      break;
    }
  }
  if (attempt != Attempt::sent) return wait(peer, attempt);
  if (!all_sent) return Step::progressed;
  peer.waiting.pop();
  op.stage = RemoteOp::Stage::answer_due;
  return Step::finished;
}

Ni::Step Ni::send_native(Peer& peer, RemoteOp& op) {
  if (fault(Fault::copy_refused)) return wait(peer, Attempt::no_room);
  const Link::Start start = op.type == RemoteOp::Type::put
                                ? peer.link->put(peer.id, op.local, op.local_link, op.address,
                                                 op.remote_link, op.size, &op.link_operation)
                                : peer.link->get(peer.id, op.local, op.local_link, op.address,
                                                 op.remote_link, op.size, &op.link_operation);
  switch (start) {
    case Link::Start::again: return wait(peer, Attempt::no_room);
    case Link::Start::failed: op.native = false; return Step::progressed;
    case Link::Start::started:
      peer.waiting.pop();
      count_native(op.type, op.size);
      op.stage = RemoteOp::Stage::in_link;
      return Step::finished;
    case Link::Start::done: break;
  }
  peer.waiting.pop();
  count_native(op.type, op.size);
  finish(op, Result::ok);
  return Step::finished;
}

void Ni::count_native(RemoteOp::Type type, std::size_t size) noexcept {
  const bool put = type == RemoteOp::Type::put;
  counters_.add(put ? Counter::put_native_bytes : Counter::get_native_bytes, size);
  counters_.add(put ? Counter::bytes_sent : Counter::bytes_received, size);
}

void Ni::link_finished(Operation* self, Result result) {
  auto& link_operation = *static_cast<RemoteOp::LinkOperation*>(self);
  link_operation.ni->finish(*link_operation.op, result);
}

void Ni::finish(RemoteOp& op, Result result) noexcept {
  op.stage = RemoteOp::Stage::finished;
  op.result = result;
  --at(op.peer).outstanding;
  hand_over(op);
}

std::size_t Ni::outstanding(PeerId id) noexcept {
  const SendLock::Guard guard(lock_);
  return at(id).outstanding;
}

bool Ni::native_remote_memory(PeerId id) noexcept {
  const SendLock::Guard guard(lock_);
  return ensure_connected(at(id)) && at(id).link->remote_memory(id);
}

bool Ni::fetch_is_faster(PeerId id, std::size_t size) noexcept {
  const SendLock::Guard guard(lock_);
  Peer& peer = at(id);
  return !ensure_connected(peer) || !peer.link->remote_memory(id) ||
         size >= peer.link->traits().remote_memory_from;
}

// --- Target ---

bool Ni::serve_put(Peer& peer, std::span<const std::byte> payload) {
  PutPayload head{};
  if (!read_head(payload, head)) return false;
  const std::span<const std::byte> bytes = payload.subspan(sizeof head);

  auto& incoming = peer.incoming_puts;
  auto put = std::find_if(incoming.begin(), incoming.end(), [&](const IncomingPut& candidate) {
    return candidate.operation.index == head.operation.index &&
           candidate.operation.generation == head.operation.generation;
  });
  if (put == incoming.end()) {
    // A peer has one put under way per rail at most; many are a broken or hostile peer's.
    if (incoming.size() >= kMaxLinks) return false;
    put = incoming.insert(incoming.end(), IncomingPut{head.operation, head.total, Result::ok});
  }
  if (bytes.empty() || bytes.size() > put->remaining) return false;

  std::byte* target = regions_.resolve(head.region.id, head.region.generation, head.address,
                                       bytes.size(), kRemoteWrite);
  if (target == nullptr) {
    put->result = Result::bad_address;
  } else {
    std::memcpy(target, bytes.data(), bytes.size());
  }
  put->remaining -= bytes.size();
  const bool complete = put->remaining == 0;
  const Result result = put->result;
  if (complete) incoming.erase(put);
  if (complete) {
    const AckPayload ack{head.operation, wire(result), 0, 0};
    release_with_answer(peer, FrameType::put_ack, 0, &ack, sizeof ack);
  } else {
    release_buffer(peer);
  }
  return true;
}

bool Ni::serve_get(Peer& peer, std::span<const std::byte> payload) {
  GetPayload request{};
  if (payload.size() != sizeof request || !read_head(payload, request)) return false;
  auto* service = new GetService;  // at most the peer's window of them, until answered
  service->operation = request.operation;
  service->region = request.region;
  service->address = request.address;
  service->size = request.size;
  enqueue(peer, peer.services, *service);
  return true;
}

// False when the link has no room.
bool Ni::send_get_data(Peer& peer, GetService& service) {
  AckPayload head{service.operation, wire(Result::ok), 0, service.offset};
  const std::size_t room = peer.link->max_payload() - sizeof head;
  std::size_t size = std::min<std::uint64_t>(service.size - service.offset, room);
  // Checked for each frame: the region may have been deregistered meanwhile.
  const std::byte* source = regions_.resolve(service.region.id, service.region.generation,
                                             service.address + service.offset, size, kRemoteRead);
  if (source == nullptr) {
    head.result = wire(Result::bad_address);
    size = 0;
  }
  const Slice slices[] = {{&head, sizeof head}, {source, size}};
  const Attempt attempt = send_data(peer, FrameType::get_data, 0, slices, size == 0 ? 1 : 2);
  if (attempt != Attempt::sent) {
    wait(peer, attempt);
    return false;
  }
  service.offset += size;
  if (source != nullptr && service.offset < service.size) return true;
  peer.services.pop();
  delete &service;
  release_buffer(peer);  // of the get frame
  return true;
}

bool Ni::serve_atomic(Peer& peer, std::span<const std::byte> payload) {
  AtomicPayload request{};
  if (payload.size() != sizeof request || !read_head(payload, request)) return false;
  if (request.op > static_cast<std::uint8_t>(AtomicOp::last_)) return false;
  AckPayload reply{request.operation, wire(Result::bad_address), 0, 0};
  if (is_aligned(request.address, request.width)) {
    std::byte* target = regions_.resolve(request.region.id, request.region.generation,
                                         request.address, request.width, kRemoteAtomic);
    if (target != nullptr) {
      reply.result = wire(Result::ok);
      reply.value = apply_atomic(
          {static_cast<AtomicOp>(request.op), request.width, request.operand, request.compare},
          target);
    }
  }
  release_with_answer(peer, FrameType::atomic_reply, 0, &reply, sizeof reply);
  return true;
}

// --- Answers to the origin ---

bool Ni::accept_get_data(Peer& peer, std::span<const std::byte> payload) {
  AckPayload head{};
  if (!read_head(payload, head)) return false;
  RemoteOp* op = operations_.find(head.operation, peer.id);
  if (op == nullptr || op->type != RemoteOp::Type::get || op->stage != RemoteOp::Stage::answer_due)
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
  if (op->offset == op->size) finish(*op, Result::ok);
  return true;
}

bool Ni::accept_ack(Peer& peer, FrameType type, std::span<const std::byte> payload) {
  AckPayload ack{};
  if (payload.size() != sizeof ack || !read_head(payload, ack)) return false;
  RemoteOp* op = operations_.find(ack.operation, peer.id);
  const auto expected = type == FrameType::put_ack ? RemoteOp::Type::put : RemoteOp::Type::atomic;
  if (op == nullptr || op->type != expected || op->stage != RemoteOp::Stage::answer_due)
    return false;
  if (type == FrameType::atomic_reply && op->local != nullptr && ack.result == wire(Result::ok))
    std::memcpy(op->local, &ack.value, op->request.width);
  finish(*op, result_from_wire(ack.result));
  return true;
}

}  // namespace lfc
