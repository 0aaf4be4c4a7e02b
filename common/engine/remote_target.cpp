#include "engine/remote_target.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace lfc {
namespace {

// If both sides copy by processor, the receiver's copy of one piece overlaps with the sender's of the next.
std::size_t fragment_of(const Peer& peer, const GetService& get) noexcept {
  if (!peer.link->traits().copies_at_once) return SIZE_MAX;
  constexpr std::uint64_t kPieces = 8;
  return std::max<std::uint64_t>(limits::kGetPiece, get.size / kPieces);
}

}  // namespace

bool RemoteTarget::serve(Peer& peer, FrameType type, std::span<const std::byte> payload) {
  switch (type) {
    case FrameType::put: return serve_put(peer, payload);
    case FrameType::get: return serve_get(peer, payload);
    case FrameType::atomic: return serve_atomic(peer, payload);
    default: return false;
  }
}

bool RemoteTarget::serve_put(Peer& peer, std::span<const std::byte> payload) {
  if (payload.size() < sizeof(PutPayload)) return false;
  const auto head = load_pod<PutPayload>(payload.data());
  const std::span<const std::byte> bytes = payload.subspan(sizeof head);

  auto& incoming = peer.incoming_puts;
  auto put = std::find_if(incoming.begin(), incoming.end(), [&](const IncomingPut& candidate) {
    return candidate.operation.index == head.operation.index &&
           candidate.operation.generation == head.operation.generation;
  });
  if (put == incoming.end()) {
    // A peer has at most one put under way per link; more come only from a broken or hostile peer.
    if (incoming.size() >= LinkTraits::kKinds) return false;
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
    sender_.reply_and_release(peer, FrameType::put_ack, 0, &ack, sizeof ack);
  } else {
    sender_.release(peer);
  }
  return true;
}

bool RemoteTarget::serve_get(Peer& peer, std::span<const std::byte> payload) {
  if (payload.size() != sizeof(GetPayload)) return false;
  const auto request = load_pod<GetPayload>(payload.data());
  auto* service = new GetService;  // at most the peer's window of them, until the reply has left
  service->operation = request.operation;
  service->region = request.region;
  service->address = request.address;
  service->size = request.size;
  sender_.post(peer, peer.services, *service);
  return true;
}

Sender::Step RemoteTarget::send_data(Peer& peer, GetService& get) {
  AckPayload head{get.operation, wire(Result::ok), 0, get.offset};
  const std::size_t room = std::min(peer.link->max_payload() - sizeof head, fragment_of(peer, get));
  std::size_t size = std::min<std::uint64_t>(get.size - get.offset, room);
  // Checked for each frame, because the region may have been deregistered meanwhile.
  const std::byte* source = regions_.resolve(get.region.id, get.region.generation,
                                             get.address + get.offset, size, kRemoteRead);
  if (source == nullptr) {
    head.result = wire(Result::bad_address);
    size = 0;
  }
  const Slice slices[] = {{&head, sizeof head}, {source, size}};
  const Sender::Attempt attempt =
      sender_.send(peer, FrameType::get_data, 0, slices, size == 0 ? 1 : 2);
  if (attempt != Sender::Attempt::sent) return sender_.wait(peer, attempt);
  get.offset += size;
  if (source != nullptr && get.offset < get.size) return Sender::Step::progressed;
  peer.services.pop();
  delete &get;
  sender_.release(peer);  // of the get frame
  return Sender::Step::finished;
}

bool RemoteTarget::serve_atomic(Peer& peer, std::span<const std::byte> payload) {
  if (payload.size() != sizeof(AtomicPayload)) return false;
  const auto request = load_pod<AtomicPayload>(payload.data());
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
  sender_.reply_and_release(peer, FrameType::atomic_reply, 0, &reply, sizeof reply);
  return true;
}

}  // namespace lfc
