#include "services/partitioned/partitioned.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace lfc {

using partitioned::Bytes;
using partitioned::Ended;
using partitioned::Head;
using partitioned::Marked;
using partitioned::Protocol;
using partitioned::Receiving;
using partitioned::Request;
using partitioned::Sending;
using partitioned::Status;

namespace {

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Waits for threads that are still inside ready() of an epoch that has ended.
void await_threads(const Request& request) noexcept {
  if (!request.sends) return;
  const auto& send = static_cast<const Sending&>(request);
  while (send.inside.load(std::memory_order_acquire) != 0) sched_yield();
}

// With Access.
void send_stacked(partitioned::ReadyStack& stack, Protocol& protocol) {
  stack.take([&](Sending& send) { protocol.send_ready(send, now_ns()); });
}

// With Access.
void send_or_postpone(Protocol& protocol, Sending& send) {
  const std::uint64_t now = now_ns();
  if (send.is_worth_it(now))
    protocol.send_ready(send, now);
  else
    protocol.postpone(send);
}

void drop(Protocol& protocol, Request& request) {
  if (request.sends)
    protocol.drop(static_cast<Sending&>(request));
  else
    protocol.drop(static_cast<Receiving&>(request));
}

// Without Access.
bool copies_at_once(ServicePort& port, PeerId peer) {
  const ServicePort::Access access(port);
  return port.link_traits(peer).copies_at_once;
}

// Ends all access to the request's memory before it is dropped. Without Access.
void conceal(MemoryPort& memory, Request& request) {
  if (request.sends) return await_threads(request);
  auto& receive = static_cast<Receiving&>(request);
  if (receive.exposed) memory.deregister_memory(receive.region);
}

}  // namespace

Partitioned::Partitioned(ServicePort& port, MemoryPort& memory, const partitioned::Host& host)
    : port_(port),
      memory_(memory),
      host_(host),
      host_call_(
          port, [](void* self) { static_cast<Partitioned*>(self)->call_back(); }, this,
          HostCall::By::host) {
  port_.attach(ServiceId::partitioned, this);
}

Partitioned::~Partitioned() {
  port_.attach(ServiceId::partitioned, nullptr);
  host_call_.end();
}

// --- The host ---

Sending& Partitioned::offer(const partitioned::Key& key, void* owner, const std::byte* data,
                            std::uint64_t partitions, std::uint64_t each) {
  const ServicePort::Access access(port_);
  return protocol_.offer(key, owner, data, partitions, each);
}

Receiving& Partitioned::expect(const partitioned::Key& key, void* owner, std::byte* place,
                               std::uint64_t partitions, std::uint64_t each) {
  RegionHandle region;
  const std::uint64_t size = partitions * each;
  const bool writes = size >= partitioned::Direct().total && copies_at_once(port_, key.peer) &&
                      memory_.register_memory(place, size, kRemoteWrite, region);
  const ServicePort::Access access(port_);
  Receiving& receive = protocol_.expect(
      key, owner, place, partitions, each,
      writes ? std::as_bytes(std::span(&region, 1)) : std::span<const std::byte>());
  receive.exposed = writes;
  receive.region = region;
  return receive;
}

void Partitioned::start(Sending& send) {
  const ServicePort::Visit visit(port_);
  protocol_.start(send);
}

void Partitioned::start(Receiving& receive) {
  const ServicePort::Visit visit(port_);
  protocol_.start(receive);
}

bool Partitioned::ready(Sending& send, std::uint64_t first, std::uint64_t last) {
  // As soon as the partition is marked, another thread may end the epoch, and a third one free the send. So this thread
  // leaves the send before the visit ends, with which done() may be called.
  send.inside.fetch_add(1, std::memory_order_acquire);
  const Marked marked = send.mark(first, last);
  SendLock::Entry entry = SendLock::kRefused;
  if (marked == Marked::last) {
    entry = port_.begin_visit();
    protocol_.send_ready(send, now_ns());
  } else if (marked == Marked::some) {
    entry = port_.try_visit();
    if (entry == SendLock::kRefused)
      stacked_.push(send);
    else
      send_or_postpone(protocol_, send);
  }
  send.inside.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in await_threads()
  if (entry != SendLock::kRefused) port_.end_visit(entry);
  return marked != Marked::refused;
}

void Partitioned::progress() {
  if (!stacked_.any()) [[likely]]
    return;
  const SendLock::Entry entry = port_.try_visit();
  if (entry == SendLock::kRefused) return;
  send_stacked(stacked_, protocol_);
  port_.end_visit(entry);
}

bool Partitioned::arrived(const Receiving& receive, std::uint64_t first, std::uint64_t last) {
  const ServicePort::Access access(port_);
  return protocol_.arrived(receive, first, last);
}

bool Partitioned::release(Request& request) {
  {
    const ServicePort::Access access(port_);
    request.released = request.active || request.unreported > 0;
    if (request.released) return false;
  }
  conceal(memory_, request);
  const ServicePort::Access access(port_);
  send_stacked(stacked_, protocol_);
  drop(protocol_, request);
  return true;
}

partitioned::Totals Partitioned::totals() {
  const ServicePort::Access access(port_);
  return protocol_.totals();
}

void Partitioned::ended(Request& request, Status status, std::uint64_t bytes) {
  ++request.unreported;
  ended_.push_back({&request, status, bytes});
  host_call_.request();
}

// During done() the host may free the request or start it again, and so may another of its threads from then on.
void Partitioned::call_back() {
  std::vector<Ended> ended;
  {
    const ServicePort::Access access(port_);
    ended.swap(ended_);
  }
  for (const Ended& one : ended) host_.done(one.request->owner, one.status, one.bytes);
  std::vector<Request*> dropped;
  {
    const ServicePort::Access access(port_);
    for (const Ended& one : ended)
      if (--one.request->unreported == 0 && one.request->released && !one.request->active)
        dropped.push_back(one.request);
    if (ended_.empty()) ended.clear(), ended_.swap(ended);  // keeps its memory for the next ones
  }
  for (Request* const request : dropped) {
    void* const owner = request->owner;
    conceal(memory_, *request);
    {
      const ServicePort::Access access(port_);
      send_stacked(stacked_, protocol_);
      drop(protocol_, *request);
    }
    host_.dropped(owner);
  }
}

bool Partitioned::write(Sending& of, const Bytes& bytes) {
  RegionHandle region;
  std::memcpy(&region, of.token.data(), sizeof region);
  return memory_.put_at_once(of.key.peer, of.data + bytes.offset, region.address + bytes.offset,
                             region, bytes.length);
}

// --- Frames ---

Service::Verdict Partitioned::on_frame(PeerId peer, FrameType type,
                                       std::span<const std::byte> payload) {
  if (type != FrameType::service) return Verdict::malformed;
  return protocol_.on_frame(peer, payload) ? Verdict::release : Verdict::malformed;
}

void Partitioned::on_lost(PeerId peer) {
  send_stacked(stacked_, protocol_);
  protocol_.on_lost(peer);
}

bool Partitioned::work() {
  send_stacked(stacked_, protocol_);
  protocol_.work();
  return false;
}

// The frame of a send has left in which its bytes are lent. If the peer is lost, on_lost() follows and ends the send.
void Partitioned::on_left(PeerId, std::uint64_t note, Result result) {
  if (result == Result::ok) protocol_.left(note);
}

void Partitioned::control(PeerId to, const Head& head, const void* payload, std::size_t size) {
  const Slice slices[2] = {{&head, sizeof head}, {payload, size}};
  if (port_.try_send(to, ServiceId::partitioned, slices, size > 0 ? 2 : 1)) return;
  Packet packet = port_.packets().make(ServiceId::partitioned, size);
  packet.set_head(&head, sizeof head);
  if (size > 0) std::memcpy(packet.body(), payload, size);
  port_.packets().send(to, std::move(packet));
}

bool Partitioned::data(Sending& of, const Head& head, const void* bytes, std::size_t size) {
  const Slice slices[2] = {{&head, sizeof head}, {bytes, size}};
  if (port_.try_send(of.key.peer, ServiceId::partitioned, slices, size > 0 ? 2 : 1)) return true;
  Packet packet = port_.packets().make(ServiceId::partitioned);
  packet.set_head(&head, sizeof head);
  packet.lend({bytes, size});
  return port_.packets().send(of.key.peer, std::move(packet), of.name);
}

}  // namespace lfc
