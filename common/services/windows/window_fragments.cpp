// Windows, the origin's part: what goes in frames, cut to their size, and what has to wait for a lock,
// a post or a credit.
#include <algorithm>
#include <cstring>

#include "services/windows/window_op.hpp"

namespace lfc {

using Kind = WindowOp::Kind;

WindowHead Window::head(const WindowPeer& peer, WindowKind kind) const noexcept {
  WindowHead head{};
  head.window = peer.id;
  head.rank = rank_;
  head.kind = static_cast<std::uint8_t>(kind);
  return head;
}

// A signal waits for nothing that may wait itself: it names the count that it must not overtake.
void Window::signal(WindowPeer& peer, WindowKind kind, std::uint8_t flags, std::uint64_t count) {
  struct Signal : Message {
    WindowHead head;
  };
  WindowHead head = this->head(peer, kind);
  head.flags = flags;
  head.count = count;
  const Slice slice{&head, sizeof head};
  if (ni_.service_try_send(peer.peer, ServiceId::windows, &slice, 1)) return;
  auto* held = new Signal;
  held->head = head;
  held->type = FrameType::service;
  held->tag = static_cast<std::uint8_t>(ServiceId::windows);
  held->slices[0] = {&held->head, sizeof held->head};
  held->slice_count = 1;
  held->done = [](Message* self, Result) { delete static_cast<Signal*>(self); };
  ni_.service_post(peer.peer, *held);
}

void Window::enqueue(WindowPeer& peer, WindowOp& op) {
  op.next = nullptr;
  if (peer.first == nullptr) {
    peer.first = &op;
  } else {
    peer.last->next = &op;
  }
  peer.last = &op;
}

// Sends what may go. Runs in the calls and in the control program.
void Window::pump(WindowPeer& peer) {
  if (peer.pumping) return;  // a carrier that went at once
  peer.pumping = true;
  while (peer.first != nullptr && !peer.carrying && permitted(peer)) {
    WindowOp& op = *peer.first;
    if (op.native || peer.is_mapped()) {  // the host's to do
      host_work_ = true;
      windows_.host_wanted_.store(true, std::memory_order_release);
      break;
    }
    send_fragment(peer, op, cut_fragment(op));
    if (lost_) break;  // while it was being sent: the queue is gone
    if (!op.all_sent()) continue;
    peer.first = op.next;
    if (!op.has_result()) windows_.finish(op, WindowStatus::ok);
  }
  peer.pumping = false;
}

// The first of the operations that wait, if it is the host's to do and may be done now.
WindowOp* Window::host_operation(WindowPeer& peer) {
  WindowOp* const op = peer.first;
  const bool ready = op != nullptr && !op->executing && !peer.carrying && permitted(peer) &&
                     (op->native || peer.is_mapped());
  return ready ? op : nullptr;
}

// Called without the NI's lock.
void Window::run_host_work() {
  for (WindowPeer& peer : peers_) {
    for (;;) {
      WindowOp* op = nullptr;
      WindowOp native;
      {
        const Ni::Access access(ni_);
        op = host_operation(peer);
        if (op == nullptr) break;
        if (op->native) {
          peer.first = op->next;
          ++peer.natives;
          if (op->has_result()) --peer.replies;
          native = std::move(*op);
          windows_.give_back(*op);
        } else {
          // It stays the first: no other thread takes it for done, or a later one for the next, before its stores are made.
          // Held by "an operation on mapped memory is not done before its stores are".
          op->executing = true;
        }
      }
      if (native.native) {
        start_native(peer, native);
      } else {
        execute_mapped(peer, *op);
      }
      const Ni::Access access(ni_);
      if (!native.native) end_host_operation(peer, *op);
      pump(peer);
    }
  }
}

void Window::end_host_operation(WindowPeer& peer, WindowOp& op) {
  op.executing = false;
  if (op.has_result()) --peer.replies;
  if (peer.first == &op) peer.first = op.next;  // else the member is lost, and the queue with it
  windows_.finish(op, WindowStatus::ok);
}

// Counts a put or accumulate fragment; returns the flags that say for what.
std::uint8_t Window::count_fragment(WindowPeer& peer) noexcept {
  ++peer.sent;
  if (passive(peer)) {
    peer.wanted = peer.sent;
    return kWantAck;
  }
  if (peer.in_access) return 0;
  ++peer.fence_sent;
  return static_cast<std::uint8_t>(kInFence | (odd_fence_ ? kOddFence : 0));
}

// Whoever has called complete or unlock waits only for this fragment to leave: it tells the target as well.
void Window::let_end_ride(const WindowOp& op, WindowPeer& peer, WindowHead& head) noexcept {
  if (peer.ending == WindowPeer::End::none || op.next != nullptr || !op.all_sent() ||
      peer.replies != 0 || peer.natives != 0)
    return;
  head.flags =
      peer.ending == WindowPeer::End::complete ? kComplete : kUnlock;  // whose answer counts, too
  head.count = peer.sent;
  peer.end_told = true;
}

// How many bytes of an operation its next fragment takes; their runs are in runs_scratch_ then. Nothing else says what
// fits into a frame. Held by "strided operations around the size of a frame".
std::uint64_t Window::cut_fragment(WindowOp& op) {
  std::uint64_t limit = op.bytes - op.sent;
  // The old values that a fetch without operands asks for come back in one frame.
  if (op.kind == Kind::fetch) limit = std::min(limit, windows_.frame_bytes_ - sizeof(WindowReply));
  return windows_.cut(op.to, limit, op.unit(), op.sends_operands());
}

// Sends what cut_fragment() has cut.
void Window::send_fragment(WindowPeer& peer, WindowOp& op, std::uint64_t bytes) {
  WindowHead head{};
  const std::byte* data = nullptr;
  std::size_t size = 0;
  switch (op.kind) {
    case Kind::put: head = this->head(peer, WindowKind::put); break;
    case Kind::accumulate: head = this->head(peer, WindowKind::accumulate); break;
    case Kind::get: head = this->head(peer, WindowKind::get); break;
    case Kind::fetch: head = this->head(peer, WindowKind::fetch); break;
    case Kind::compare_swap: head = this->head(peer, WindowKind::compare_swap); break;
  }
  head.offset = op.sent;
  head.bytes = bytes;
  head.runs = static_cast<std::uint32_t>(windows_.runs_scratch_.size());
  op.sent += head.bytes;
  if (op.has_result()) {
    head.reply = op.name;
    head.flags = head.bytes == op.bytes ? kWhole : 0;
  } else {
    head.flags = count_fragment(peer);
    let_end_ride(op, peer, head);
  }
  head.operation = static_cast<std::uint8_t>(op.what.operation);
  head.element = static_cast<std::uint8_t>(op.what.element);
  if (op.kind == Kind::compare_swap) {
    data = op.operands.data();
    size = 2 * head.bytes;
  } else if (op.sends_operands()) {
    Cursor ahead = op.out;
    Piece piece;
    ahead.next(head.bytes, piece);
    size = head.bytes;
    if (piece.length == head.bytes) {
      op.out = ahead;
      data = op.origin.base + piece.offset;
    } else {
      std::vector<std::byte>& packed = windows_.bytes_scratch_;
      packed.resize(head.bytes);
      gather(op.out, op.origin.base, packed.data(), head.bytes);
      data = packed.data();
    }
  }
  windows_.send(peer, *this, op.target, head, data, size);
}

// Fills runs_scratch_ with the next pieces of `to`, as many as one fragment takes of at most `limit`
// bytes; returns the packed bytes they cover, a multiple of `unit`.
std::uint64_t Windows::cut(Cursor& to, std::uint64_t limit, std::uint64_t unit, bool with_data) {
  const std::uint64_t room = frame_bytes_ - sizeof(WindowHead);
  const Cursor start = to;
  for (;;) {
    std::uint64_t covered = 0;
    runs_scratch_.clear();
    while (covered < limit) {
      const std::uint64_t used =
          sizeof(Run) * (runs_scratch_.size() + 1) + (with_data ? covered : 0);
      if (used >= room) break;
      const std::uint64_t free = with_data ? room - used : limit;
      Piece piece;
      if (!to.next(std::min(limit - covered, free), piece)) break;
      append_piece(runs_scratch_, piece);
      covered += piece.length;
    }
    if (covered % unit == 0) return covered;
    limit = covered - covered % unit;
    to = start;
  }
}

// Sends a fragment whose runs are in runs_scratch_, or has the NI keep a copy until it can go.
void Windows::send(WindowPeer& peer, const Window& window, std::uint32_t rank,
                   const WindowHead& head, const std::byte* data, std::size_t size) {
  const std::size_t runs_bytes = sizeof(Run) * runs_scratch_.size();
  const Slice slices[] = {{&head, sizeof head}, {runs_scratch_.data(), runs_bytes}, {data, size}};
  if (ni_->service_try_send(peer.peer, ServiceId::windows, slices, size == 0 ? 2 : 3)) return;
  std::unique_ptr<Carrier> carrier = spare_carriers_.take();
  carrier->bytes.clear();
  for (const Slice& slice : slices) {
    const auto* from = static_cast<const std::byte*>(slice.data);
    if (slice.size != 0) carrier->bytes.insert(carrier->bytes.end(), from, from + slice.size);
  }
  carrier->windows = this;
  carrier->window = window.facts_.id;
  carrier->rank = rank;
  carrier->type = FrameType::service;
  carrier->tag = static_cast<std::uint8_t>(ServiceId::windows);
  carrier->slices[0] = {carrier->bytes.data(), carrier->bytes.size()};
  carrier->slice_count = 1;
  carrier->done = [](Message* self, Result result) {
    std::unique_ptr<Carrier> ended(static_cast<Carrier*>(self));
    Windows& windows = *ended->windows;
    Window* const owner = windows.find(ended->window);
    const std::uint32_t target = ended->rank;
    windows.spare_carriers_.keep(std::move(ended));
    if (owner == nullptr) return;
    owner->peers_[target].carrying = false;
    if (result == Result::ok) owner->pump(owner->peers_[target]);
  };
  peer.carrying = true;
  ni_->service_post(peer.peer, *carrier.release());
}

}  // namespace lfc
