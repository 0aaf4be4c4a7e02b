#include "services/windows/protocol/origin.hpp"

#include <algorithm>
#include <cstring>

namespace lfc::rma {
namespace {

const PlainCall& plain_of(const PlainCall& call) noexcept { return call; }
// Describes a contiguous put or get.
PlainCall plain_of(const WindowCall& call) noexcept {
  const View& here = call.kind == WindowCall::Kind::put ? call.origin : call.result;
  std::byte* const bytes = here.base + here.begin();
  const auto offset = static_cast<std::uint64_t>(call.there.begin());
  return {call.kind, call.what, call.target, bytes, bytes, offset, call.bytes};
}

}  // namespace

Origin::Origin(std::uint32_t ranks, const ExposedMemory& memory, Operations& operations,
               Carrier& carrier)
    : OriginPeers(ranks, carrier), memory_(memory), operations_(operations) {}

WindowStatus Origin::check(const WindowCall& call) const noexcept {
  if (!call.fits()) return WindowStatus::truncated;
  if (call.bytes == 0) return WindowStatus::ok;
  const OriginPeer& peer = this->peer(call.target);
  const View& there = call.there;
  Bounds bounds;
  if (!there.bounds(bounds) || bounds.low < 0) return WindowStatus::range;
  if (!memory_.dynamic())
    return static_cast<std::uint64_t>(bounds.high) <= memory_size(call.target)
               ? WindowStatus::ok
               : WindowStatus::range;
  if (!peer.reach.mapped) return WindowStatus::ok;
  std::int64_t base = 0;
  for (std::uint64_t i = 0; i < there.count; ++i)
    for (Run run : there.runs) {
      run.offset += there.offset + there.extent * static_cast<std::int64_t>(i);
      if (memory_.resolve({&run, 1}, base) == nullptr) return WindowStatus::range;
    }
  return WindowStatus::ok;
}

// Lets an operation join the target's bundle if it should. Else sends the bundle, because nothing overtakes it, and
// updates `now`.
template <class Call>
Origin::Joined Origin::join_others(OriginPeer& peer, const Call& call, Moment& now) {
  if (is_copying(peer)) {
    if (join_copies(peer, call)) return Joined::yes;
  } else if (joins(peer, now) && lasting_way(peer.reach, call.shape(), now) == Way::frames) {
    const Joined joined = join(peer, call);
    if (joined != Joined::no) return joined;
  }
  if (peer.bundle != nullptr && send_bundle(peer)) now = moment(peer);
  return Joined::no;
}

// The first small put after a wait that the link copies leaves at once. The next ones join a bundle, because
// one call of the kernel with many pieces takes little more time than with one. False: the put does not join.
template <class Call>
bool Origin::join_copies(OriginPeer& peer, const Call& call) {
  const Shape shape = call.shape();
  if (shape.kind != Shape::Kind::put || !shape.contiguous || shape.request ||
      shape.bytes > limits::kWindowSmall)
    return false;
  const std::size_t held = peer.bundle == nullptr ? 0 : peer.bundle->size();
  const std::size_t room =
      std::min(operations_.bundles.room(carrier_.frame_bytes()), limits::kWindowCopies);
  if (held + Bundle::room_for(shape.bytes) > room) return false;
  if (join(peer, plain_of(call)) != Joined::yes) return false;
  peer.bundle->let_link_copy();
  operations_.want_host();
  return true;
}

template <class Call>
bool Origin::copy(OriginPeer& peer, const Call& call) {
  if (peer.copied_in == waits_ && join_copies(peer, call)) return true;
  if (!carrier_.copy_at_once(plain_of(call))) return false;
  if (call.shape().kind == Shape::Kind::put) peer.copied_in = waits_;
  return true;
}

Issued Origin::issue(const WindowCall& call) {
  OriginPeer& peer = use(call.target);
  if (!passive(peer) && !peer.in_access && !access_.fence_open)
    return {WindowStatus::sync, Way::frames};
  if (trouble_.lost) return {WindowStatus::lost, Way::frames};
  if (call.bytes == 0) return {WindowStatus::ok, Way::frames};
  Moment now = moment(peer);
  const Joined joined = join_others(peer, call, now);
  if (joined != Joined::no)
    return {WindowStatus::ok, is_copying(peer) ? Way::at_once : Way::frames,
            joined == Joined::full};
  const Shape shape = call.shape();
  Way way = choose(peer.reach, shape, now);
  if (peer.crowded() && way != Way::stores && way != Way::at_once)
    return {WindowStatus::ok, way, true};
  if (way == Way::at_once) {
    if (copy(peer, call)) return {WindowStatus::ok, way};
    if (peer.crowded()) return {WindowStatus::ok, way, true};
    way = Way::link;
  }
  if (way == Way::link) transfer(peer, call);
  if (way == Way::frames && !send_whole(peer, call)) way = Way::later;
  if (way == Way::later) {
    WindowOp& op = operations_.take(call);
    op.owner = this;
    op.way = lasting_way(peer.reach, shape, now);
    if (op.has_result()) ++peer.replies;
    peer.enqueue(op);
    pump(peer);
  }
  return {WindowStatus::ok, way};
}

bool Origin::issue_plain(const PlainCall& call) {
  OriginPeer& peer = use(call.target);
  const bool inside = call.offset <= peer.size && call.bytes <= peer.size - call.offset;
  const bool open = passive(peer) || peer.in_access || access_.fence_open;
  if (!inside || memory_.dynamic() || !open || trouble_.lost || call.bytes == 0 ||
      peer.ending != OriginPeer::End::none)
    return false;
  Moment now = moment(peer);
  const Joined joined = join_others(peer, call, now);
  if (joined != Joined::no) return joined == Joined::yes;
  if (call.has_result() && peer.crowded()) return false;
  switch (choose(peer.reach, call.shape(), now)) {
    case Way::at_once: return copy(peer, call);
    case Way::frames: return send_plain(peer, call);
    default: return false;
  }
}

// Runs in the calls and in the control program.
void Origin::pump(OriginPeer& peer) {
  if (peer.pumping || !send_bundle(peer)) return;  // called for a fragment that went at once
  peer.pumping = true;
  while (peer.first != nullptr && !peer.carrying && permitted(peer)) {
    WindowOp& op = *peer.first;
    if (op.way == Way::link) {
      peer.dequeue();
      if (op.has_result()) --peer.replies;
      transfer(peer, op);
      operations_.give_back(op);
      continue;
    }
    if (op.way == Way::stores) {  // the host's
      host_work_ = true;
      operations_.want_host();
      break;
    }
    send_fragment(peer, op, op.walk, cut(op, op.walk), &op);
    if (!op.all_sent()) continue;
    peer.dequeue();
    if (!op.has_result()) operations_.finish(op, WindowStatus::ok);
  }
  peer.pumping = false;
}

// Has the link do an operation; native_done() follows.
void Origin::transfer(OriginPeer& peer, const WindowCall& call) {
  ++peer.natives;
  carrier_.transfer(call);
}

void Origin::drop_waiting(OriginPeer& peer) noexcept {
  peer.first = peer.last = nullptr;
  peer.queued = 0;
  if (peer.bundle != nullptr) operations_.bundles.give_back(close_bundle(peer));
}

WindowOp* Origin::begin_host_operation(OriginPeer& peer) {
  WindowOp* const op = peer.first;
  if (op == nullptr || op->executing || op->way != Way::stores || peer.carrying ||
      peer.bundle != nullptr || !permitted(peer))
    return nullptr;
  // It stays the first until its stores are made. So no other thread takes it for done, or a later one for the next.
  // Held by "an operation on mapped memory is not done before its stores are".
  op->executing = true;
  return op;
}

void Origin::host_operation_done(WindowOp& op, WindowStatus status) {
  OriginPeer& peer = *find(op.target);
  op.executing = false;
  if (op.has_result()) --peer.replies;
  if (peer.first == &op) peer.dequeue();  // else the member is lost, and the queue with it
  operations_.finish(op, status);
  pump(peer);
}

void Origin::native_done(Rank target, WindowStatus status) noexcept {
  --find(target)->natives;
  if (status != WindowStatus::ok) trouble_.error = status;
}

// --- Frames and events of targets ---

Verdict Origin::on_granted(OriginPeer& peer) {
  if (peer.lock != OriginPeer::Lock::requested) return Verdict::malformed;
  peer.lock = OriginPeer::Lock::held;
  pump(peer);
  return Verdict::release;
}

void Origin::on_post(OriginPeer& peer) {
  ++peer.posts;
  pump(peer);
}

void Origin::on_counted(OriginPeer& peer, const WindowAck& ack, WindowStatus status) {
  if (status != WindowStatus::ok) trouble_.error = status;
  // Acks may overtake each other, so the count only grows.
  peer.counted = std::max(peer.counted, ack.count);
  if (ack.kind == static_cast<std::uint8_t>(AckKind::unlocked)) peer.unlocked = true;
  if (peer.counted >= peer.wanted) (void)send_bundle(peer);
}

Verdict Origin::on_result(WindowOp& op, const WindowAck& ack, WindowStatus status) {
  if (ack.size > sizeof ack.result || ack.size != op.bytes || op.walk.received != 0 ||
      !op.all_sent())
    return Verdict::malformed;
  if (status == WindowStatus::ok) {
    scatter(op.walk.in, op.result.base, reinterpret_cast<const std::byte*>(ack.result), ack.size);
  } else {
    op.status = status;
  }
  received(op, ack.size);
  return Verdict::release;
}

Verdict Origin::on_reply(WindowOp& op, const WindowReply& reply, std::span<const std::byte> bytes) {
  Walk& walk = op.walk;
  const std::uint64_t due = walk.sent - walk.received;
  if (reply.status != static_cast<std::uint64_t>(WindowStatus::ok)) {
    if (reply.offset == 0 || reply.offset > due) return Verdict::malformed;
    op.status = WindowStatus::range;
    received(op, reply.offset);
    return Verdict::release;
  }
  if (bytes.empty() || bytes.size() > due || reply.offset > op.bytes - bytes.size())
    return Verdict::malformed;
  // The replies to several fragments take turns, also over one rail.
  if (reply.offset != walk.in_place) walk.in.seek(reply.offset);
  scatter(walk.in, op.result.base, bytes.data(), bytes.size());
  walk.in_place = reply.offset + bytes.size();
  received(op, bytes.size());
  return Verdict::release;
}

// Counts bytes of a result that have arrived, or that never will.
void Origin::received(WindowOp& op, std::uint64_t bytes) {
  op.walk.received += bytes;
  if (op.walk.received != op.bytes) return;
  --find(op.target)->replies;
  operations_.finish(op, op.status);
}

void Origin::carried(Rank to, bool sent) {
  OriginPeer& peer = *find(to);
  if (!sent) {
    trouble_.lost = true;  // on_lost() follows; nothing leaves meanwhile
    return;
  }
  peer.carrying = false;
  pump(peer);
}

void Origin::on_lost(Rank rank) noexcept {
  if (OriginPeer* const peer = find(rank)) {
    drop_waiting(*peer);
    peer->carrying = false;
  }
  trouble_.lost = true;
}

}  // namespace lfc::rma
