// Origin: operations in frames, cut into fragments of their size, or joined in bundles.
#include <algorithm>

#include "services/windows/protocol/origin.hpp"

namespace lfc::rma {
namespace {

WindowKind kind_of(WindowCall::Kind kind) noexcept {
  switch (kind) {
    case WindowCall::Kind::put: return WindowKind::put;
    case WindowCall::Kind::accumulate: return WindowKind::accumulate;
    case WindowCall::Kind::get: return WindowKind::get;
    case WindowCall::Kind::fetch: return WindowKind::fetch;
    case WindowCall::Kind::compare_swap: break;
  }
  return WindowKind::compare_swap;
}

// Fills `runs` with the next pieces of `to`, as many as one fragment takes of at most `limit`
// bytes and `room` for all; returns the packed bytes they cover, a multiple of `unit`.
std::uint64_t cut_runs(Cursor& to, std::uint64_t limit, std::uint64_t unit, bool with_data,
                       std::uint64_t room, std::vector<Run>& runs) {
  const Cursor start = to;
  for (;;) {
    std::uint64_t covered = 0;
    runs.clear();
    while (covered < limit) {
      const std::uint64_t used = sizeof(Run) * (runs.size() + 1) + (with_data ? covered : 0);
      if (used >= room) break;
      const std::uint64_t free = with_data ? room - used : limit;
      Piece piece;
      if (!to.next(std::min(limit - covered, free), piece)) break;
      append_piece(runs, piece);
      covered += piece.length;
    }
    if (covered % unit == 0) return covered;
    limit = covered - covered % unit;
    to = start;
  }
}

BundleEntry entry_of(WindowCall::Kind kind, Accumulation what, std::uint64_t offset,
                     std::uint64_t bytes) noexcept {
  return {offset,
          static_cast<std::uint32_t>(bytes),
          static_cast<std::uint8_t>(kind_of(kind)),
          static_cast<std::uint8_t>(what.operation),
          static_cast<std::uint8_t>(what.element),
          0};
}

// If a call of complete or unlock waits only for this fragment to leave, the fragment carries its end as well.
void let_end_ride(OriginPeer& peer, WindowHead& head) noexcept {
  if (peer.ending == OriginPeer::End::none || peer.replies != 0 || peer.natives != 0) return;
  head.flags = peer.ending == OriginPeer::End::complete
                   ? kComplete
                   : kUnlock;  // the reply contains the count as well
  head.count = peer.sent;
  peer.end_sent = true;
}

// Returns the next packed operands, in place if they are packed there, else in `buffer`.
std::span<const std::byte> operands(const WindowCall& call, Walk& walk, std::uint64_t bytes,
                                    std::vector<std::byte>& buffer) {
  if (call.kind == WindowCall::Kind::compare_swap) return {call.operands.data(), 2 * bytes};
  if (!call.sends_operands()) return {};
  Cursor ahead = walk.out;
  Piece piece;
  ahead.next(bytes, piece);
  if (piece.length == bytes) {
    walk.out = ahead;
    return {call.origin.base + piece.offset, bytes};
  }
  buffer.resize(bytes);
  gather(walk.out, call.origin.base, buffer.data(), bytes);
  return buffer;
}

}  // namespace

// Sends an operation on one piece of memory that one frame can carry, there and back, without runs. False: another
// kind, and nothing was sent.
bool Origin::send_plain(OriginPeer& peer, const PlainCall& call) {
  const std::uint64_t operands = call.operand_bytes();
  if (sizeof(WindowHead) + std::max(call.bytes, operands) > carrier_.frame_bytes()) return false;
  WindowHead head = head_of(kind_of(call.kind), 0);
  head.operation = static_cast<std::uint8_t>(call.what.operation);
  head.element = static_cast<std::uint8_t>(call.what.element);
  head.bytes = call.bytes;
  head.offset = call.offset;
  if (call.has_result()) {
    WindowOp& op = operations_.take(call);
    op.owner = this;
    ++peer.replies;
    head.reply = op.name;
    head.flags = kWhole;
  } else {
    head.flags = count_fragment(peer);
  }
  peer.carrying = true;
  if (carrier_.send(call.target, head, {}, {call.origin, operands})) peer.carrying = false;
  return true;
}

// Sends an operation that one frame can carry and that gets no result. False: another kind, and nothing was sent.
bool Origin::send_whole(OriginPeer& peer, const WindowCall& call) {
  if (call.has_result() || call.bytes > carrier_.frame_bytes()) return false;
  Walk walk(call);
  if (cut(call, walk) != call.bytes) return false;
  send_fragment(peer, call, walk, call.bytes, nullptr);
  return true;
}

bool Origin::takes_notification(const WindowCall& call) {
  const OriginPeer& peer = this->peer(call.target);
  if (peer.reach.mapped || !passive(peer) || call.bytes > carrier_.frame_bytes()) return false;
  Walk walk(call);
  return cut(call, walk) == call.bytes;
}

// Returns how many bytes of an operation its next fragment takes, and stores their runs in operations_.runs. No other
// code decides how much fits into a frame. Held by "strided operations around the size of a frame".
std::uint64_t Origin::cut(const WindowCall& call, Walk& walk) {
  std::uint64_t limit = call.bytes - walk.sent;
  // The old values of a fetch without operands return in one frame.
  if (call.kind == WindowCall::Kind::fetch)
    limit = std::min(limit, carrier_.frame_bytes() - sizeof(WindowReply));
  return cut_runs(walk.to, limit, call.unit(), call.sends_operands(),
                  carrier_.frame_bytes() - sizeof(WindowHead), operations_.runs);
}

// Sends the fragment that cut() has chosen. `op`: the waiting operation that it is a part of.
void Origin::send_fragment(OriginPeer& peer, const WindowCall& call, Walk& walk,
                           std::uint64_t bytes, const WindowOp* op) {
  WindowHead head = head_of(kind_of(call.kind), 0);
  head.offset = walk.sent;
  head.bytes = bytes;
  head.runs = static_cast<std::uint32_t>(operations_.runs.size());
  head.operation = static_cast<std::uint8_t>(call.what.operation);
  head.element = static_cast<std::uint8_t>(call.what.element);
  walk.sent += bytes;
  if (call.has_result()) {
    head.reply = op->name;
    head.flags = bytes == call.bytes ? kWhole : 0;
  } else {
    head.flags = count_fragment(peer);
    const bool last = walk.sent == call.bytes && (op == nullptr || op->next == nullptr);
    if (last) let_end_ride(peer, head);
  }
  if (call.notifies()) {
    head.flags |= kNotify;
    head.offset = call.counter;
  }
  const std::span<const std::byte> data = operands(call, walk, bytes, operations_.bytes);
  peer.carrying = true;
  if (carrier_.send(peer.rank, head, operations_.runs, data)) peer.carrying = false;
}

// --- Bundles ---

Origin::Joined Origin::join(OriginPeer& peer, const PlainCall& call) {
  if (call.has_result() || call.bytes > limits::kWindowSmall || call.operand_bytes() != call.bytes)
    return Joined::no;
  const Joined joined = open_bundle(peer, Bundle::room_for(call.bytes));
  if (joined == Joined::yes)
    peer.bundle->add(entry_of(call.kind, call.what, call.offset, call.bytes), call.origin);
  return joined;
}

// An operation of several pieces joins as several. Each has whole elements.
Origin::Joined Origin::join(OriginPeer& peer, const WindowCall& call) {
  if (call.has_result() || call.bytes > limits::kWindowSmall || !call.sends_operands() ||
      call.request != nullptr || call.notifies())
    return Joined::no;
  std::uint64_t room = 0, left = call.bytes;
  Piece piece;
  for (Cursor to = call.there.cursor(); to.next(left, piece); left -= piece.length) {
    if (piece.length % call.unit() != 0) return Joined::no;
    room += Bundle::room_for(piece.length);
  }
  const Joined joined = open_bundle(peer, room);
  if (joined != Joined::yes) return joined;
  Walk walk(call);
  const std::byte* from = operands(call, walk, call.bytes, operations_.bytes).data();
  left = call.bytes;
  for (Cursor to = call.there.cursor(); to.next(left, piece); left -= piece.length) {
    peer.bundle->add(
        entry_of(call.kind, call.what, static_cast<std::uint64_t>(piece.offset), piece.length),
        from);
    from += piece.length;
  }
  return Joined::yes;
}

// Makes sure that the target's bundle has room for so many bytes; a full one leaves first. Full: it cannot leave now.
Origin::Joined Origin::open_bundle(OriginPeer& peer, std::uint64_t bytes) {
  BundlePool& pool = operations_.bundles;
  const std::size_t room = pool.room(carrier_.frame_bytes());
  if (bytes > room) return Joined::no;
  if (peer.bundle != nullptr && peer.bundle->size() + bytes > room && !send_bundle(peer))
    return Joined::full;
  if (peer.bundle == nullptr) {
    bundled_.push_back(peer.rank);
    peer.bundle = pool.take();
  }
  pool.reserve(*peer.bundle, bytes);
  return Joined::yes;
}

// Sends the bundle as one fragment, or lets the link copy it. False: it may not leave now.
bool Origin::send_bundle(OriginPeer& peer) {
  if (peer.bundle == nullptr) return true;
  // If the link has copied only some, the frame has them all again; nothing later has been written meanwhile.
  if (is_copying(peer) && carrier_.copy_bundle(peer.rank, peer.bundle->bytes())) {
    operations_.bundles.give_back(close_bundle(peer));
    return true;
  }
  if (peer.bundle->size() == 0) {  // it got no memory
    operations_.bundles.give_back(close_bundle(peer));
    return true;
  }
  if (peer.carrying || !permitted(peer)) return false;
  std::unique_ptr<Bundle> bundle = close_bundle(peer);
  WindowHead head = head_of(WindowKind::bundle, count_fragment(peer));
  head.bytes = bundle->size();
  if (peer.first == nullptr) let_end_ride(peer, head);
  peer.carrying = true;
  if (carrier_.send(peer.rank, head, {}, bundle->bytes())) peer.carrying = false;
  operations_.bundles.give_back(std::move(bundle));
  return true;
}

void Origin::send_bundles(bool copies) {
  // The last one takes the place of one that leaves, and has had its turn.
  for (std::size_t i = bundled_.size(); i-- > 0;) {
    if (i >= bundled_.size()) continue;
    OriginPeer& peer = *find(bundled_[i]);
    if (!copies || is_copying(peer)) (void)send_bundle(peer);
  }
}

// Counts a put or accumulate fragment, and returns its flags.
std::uint8_t Origin::count_fragment(OriginPeer& peer) noexcept {
  ++peer.sent;
  if (passive(peer)) {
    peer.wanted = peer.sent;
    return kWantAck;
  }
  if (peer.in_access) {
    peer.sent_in_access = true;
    return 0;
  }
  ++peer.fence_sent;
  return static_cast<std::uint8_t>(kInFence | (access_.odd_fence ? kOddFence : 0));
}

}  // namespace lfc::rma
