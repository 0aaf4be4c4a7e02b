// Windows, the target's part: frames of other members, served in the control program.
#include <algorithm>
#include <cstring>

#include "services/windows/window_op.hpp"

namespace lfc {

using Verdict = Service::Verdict;

namespace {

// Pieces of one run that are looked up one by one: a bound for what a hostile run can cost.
constexpr std::uint64_t kMostPieces = 1 << 16;

// The runs at the beginning of a fragment's payload. False: a lie.
bool read_runs(const WindowHead& head, std::span<const std::byte>& rest, std::vector<Run>& runs) {
  if (head.runs == 0 || head.runs > rest.size() / sizeof(Run)) return false;
  runs.resize(head.runs);
  std::memcpy(runs.data(), rest.data(), sizeof(Run) * head.runs);
  rest = rest.subspan(sizeof(Run) * head.runs);
  std::uint64_t total = 0;
  for (const Run& run : runs) {
    std::uint64_t bytes = 0;
    if (run.length == 0 || run.repeat == 0 ||
        __builtin_mul_overflow(run.length, run.repeat, &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      return false;
  }
  return total == head.bytes;
}

}  // namespace

// Whether all from a run's first byte to its last lies in attached regions, one or several that touch each other.
bool Window::is_attached(const Run& run) const noexcept {
  Bounds bounds;
  if (!bounds_of({&run, 1}, bounds) || bounds.low < 0) return false;
  const auto high = static_cast<std::uint64_t>(bounds.high);
  for (auto low = static_cast<std::uint64_t>(bounds.low); low < high;) {
    std::uint64_t reach = low;
    for (const Region& region : attached_)
      if (region.address <= low) reach = std::max(reach, region.address + region.size);
    if (reach == low) return false;
    low = reach;
  }
  return true;
}

// All windows but dynamic ones: offsets from the window's start. Dynamic: addresses, each piece within what is attached.
std::byte* Window::resolve(std::span<const Run> runs, std::int64_t& base) const noexcept {
  Bounds bounds;
  base = 0;
  if (flavor_ != Flavor::dynamic) {
    for (const Run& run : runs) {
      if (!bounds_of({&run, 1}, bounds) || bounds.low < 0 ||
          static_cast<std::uint64_t>(bounds.high) > size_)
        return nullptr;
    }
    return memory_;
  }
  for (const Run& run : runs) {
    if (is_attached(run)) continue;
    // Between the pieces of a regular run may be what is not.
    if (run.repeat == 1 || run.repeat > kMostPieces) return nullptr;
    Run piece{run.offset, run.length, 0, 1};
    for (std::uint64_t i = 0; i < run.repeat; ++i, piece.offset += run.stride)
      if (!is_attached(piece)) return nullptr;
  }
  base = -runs[0].offset;
  return reinterpret_cast<std::byte*>(runs[0].offset);
}

Verdict Window::accept(WindowPeer& peer, const WindowHead& head, std::span<const std::byte> rest) {
  switch (static_cast<WindowKind>(head.kind)) {
    case WindowKind::put:
    case WindowKind::accumulate:
    case WindowKind::get:
    case WindowKind::fetch:
    case WindowKind::compare_swap: return serve(peer, head, rest);
    case WindowKind::lock:
      // A member has one lock of a window at a time; many are a hostile one's.
      if (remote_tickets_.size() >= ranks()) return Verdict::malformed;
      remote_tickets_.push_back({head.rank, control_->lock.draw(), (head.flags & kExclusive) != 0});
      grant_locks();
      return Verdict::release;
    case WindowKind::granted:
      if (peer.lock != WindowPeer::Lock::requested) return Verdict::malformed;
      peer.lock = WindowPeer::Lock::held;
      pump(peer);
      return Verdict::release;
    case WindowKind::unlock: return end_lock(peer, head);
    case WindowKind::post:
      ++peer.posts;
      pump(peer);
      return Verdict::release;
    case WindowKind::complete: return end_access(peer, head);
    default: return Verdict::malformed;
  }
}

Verdict Window::serve(WindowPeer& peer, const WindowHead& head, std::span<const std::byte> rest) {
  std::vector<Run>& runs = windows_.runs_scratch_;
  if (!read_runs(head, rest, runs)) return Verdict::malformed;
  std::int64_t base = 0;
  std::byte* const memory = resolve(runs, base);
  Cursor to(runs, 0, 1, base);
  const auto kind = static_cast<WindowKind>(head.kind);
  const Accumulation what{static_cast<Accumulate>(head.operation),
                          static_cast<Element>(head.element)};
  WindowStatus status = memory == nullptr ? WindowStatus::range : WindowStatus::ok;
  switch (kind) {
    case WindowKind::put:
      if (rest.size() != head.bytes) return Verdict::malformed;
      if (memory != nullptr) scatter(to, memory, rest.data(), head.bytes);
      return count(peer, head, status);
    case WindowKind::get: {
      if (!rest.empty()) return Verdict::malformed;
      windows_.start_reply(peer.peer, *this, head, {});
      return Verdict::hold;
    }
    case WindowKind::compare_swap: {
      if (head.bytes > 8 || rest.size() != 2 * head.bytes || runs.size() != 1 ||
          runs[0].repeat != 1)
        return Verdict::malformed;
      std::array<std::byte, 8> old{};
      if (memory != nullptr)
        lfc::compare_and_swap(memory + (base + runs[0].offset), rest.data(),
                              rest.data() + head.bytes, old.data(), head.bytes,
                              {control_->elements, hold(1)});
      answer_result(peer, head.reply, status, old.data(), head.bytes);
      return Verdict::hold;
    }
    default: break;
  }
  if (!is_valid(what.operation, what.element) || head.bytes % size_of(what.element) != 0)
    return Verdict::malformed;
  // Also without operands: what one frame asks for is what one frame could carry.
  if (head.bytes > windows_.frame_bytes_) return Verdict::malformed;
  const bool operands = what.operation != Accumulate::no_op;
  if (rest.size() != (operands ? head.bytes : 0)) return Verdict::malformed;
  const std::byte* const from = operands ? rest.data() : nullptr;
  const ElementGuard guard{control_->elements, hold(head.bytes / size_of(what.element))};
  if (kind == WindowKind::accumulate) {
    if (memory != nullptr) lfc::accumulate(what, to, memory, from, nullptr, head.bytes, guard);
    return count(peer, head, status);
  }
  std::vector<std::byte> old(head.bytes);
  if (memory != nullptr) lfc::accumulate(what, to, memory, from, old.data(), head.bytes, guard);
  if (head.bytes <= sizeof WindowAck::result && head.offset == 0 && (head.flags & kWhole) != 0) {
    answer_result(peer, head.reply, status, old.data(), old.size());
  } else {
    windows_.start_reply(peer.peer, *this, head, std::move(old));
  }
  return Verdict::hold;
}

void Window::answer_result(WindowPeer& peer, std::uint64_t reply, WindowStatus status,
                           const std::byte* bytes, std::size_t size) {
  WindowAck ack{};
  ack.kind = static_cast<std::uint8_t>(AckKind::result);
  ack.status = static_cast<std::uint8_t>(status);
  ack.size = static_cast<std::uint16_t>(size);
  ack.reply = reply;
  std::memcpy(ack.result, bytes, size);
  ni_.service_ack(peer.peer, ServiceId::windows, &ack, sizeof ack);
}

// --- Counting ---

Verdict Window::count(WindowPeer& peer, const WindowHead& head, WindowStatus status) {
  ++peer.received;
  if ((head.flags & kInFence) != 0) ++fence_received_[(head.flags & kOddFence) != 0 ? 1 : 0];
  if (status != WindowStatus::ok) peer.ack_status = status;
  if ((head.flags & kUnlock) != 0) return end_lock(peer, head);
  if ((head.flags & kComplete) != 0) {
    if (end_access(peer, head) == Verdict::malformed) return Verdict::malformed;
  } else if (!pending_completes_.empty()) {
    check_completes(peer);
  }
  // One answer for all that arrives in a pass: the last of them keeps its buffer until then. What
  // went wrong is always told.
  if ((head.flags & kWantAck) == 0 && status == WindowStatus::ok) return unlock_if_due(peer);
  if (peer.ack_due) return unlock_if_due(peer);
  peer.ack_due = true;
  acks_due_.push_back(head.rank);
  windows_.want_work(*this);
  unlock_if_due(peer);
  return Verdict::hold;
}

// The member's access epoch ends with the `count`-th of its fragments.
Verdict Window::end_access(WindowPeer& peer, const WindowHead& head) {
  pending_completes_.push_back({head.rank, head.count});
  if (pending_completes_.size() > 4 * std::size_t{ranks()}) return Verdict::malformed;
  check_completes(peer);
  return Verdict::release;
}

// And its lock. release_for() answers.
Verdict Window::end_lock(WindowPeer& peer, const WindowHead& head) {
  if (!peer.holds || peer.unlock_pending) return Verdict::malformed;
  peer.unlock_pending = true;
  peer.unlock_count = head.count;
  unlock_if_due(peer);
  return Verdict::hold;
}

Verdict Window::unlock_if_due(WindowPeer& peer) {
  if (peer.unlock_pending && peer.received >= peer.unlock_count) {
    peer.unlock_pending = false;
    release_for(peer);
  }
  return Verdict::release;
}

void Window::send_acks() {
  for (const std::uint32_t rank : std::exchange(acks_due_, {})) {
    WindowPeer& peer = peers_[rank];
    peer.ack_due = false;
    WindowAck ack{};
    ack.kind = static_cast<std::uint8_t>(AckKind::counted);
    ack.status = static_cast<std::uint8_t>(std::exchange(peer.ack_status, WindowStatus::ok));
    ack.window = peer.id;
    ack.rank = rank_;
    ack.count = peer.received;
    ni_.service_ack(peer.peer, ServiceId::windows, &ack, sizeof ack);
  }
}

// A member's access epoch has ended here when all that it sent in it has arrived.
void Window::check_completes(WindowPeer& peer) {
  std::erase_if(pending_completes_, [&](const PendingComplete& item) {
    if (&peers_[item.rank] != &peer || peer.received < item.count) return false;
    ++peer.completes;
    return true;
  });
}

// --- Locks of members that do not map them ---

void Window::grant_locks() {
  bool granted = true;
  while (granted) {  // a reader that enters lets the next one in
    granted = false;
    for (std::size_t i = 0; i < remote_tickets_.size(); ++i) {
      const RemoteTicket ticket = remote_tickets_[i];
      if (!control_->lock.enter(ticket.ticket, ticket.exclusive)) continue;
      remote_tickets_.erase(remote_tickets_.begin() + static_cast<std::ptrdiff_t>(i));
      WindowPeer& peer = peers_[ticket.rank];
      peer.holds = true;
      peer.holds_exclusive = ticket.exclusive;
      signal(peer, WindowKind::granted, 0, 0);
      granted = true;
      break;
    }
  }
  // Someone who maps it may give it free without telling.
  if (!remote_tickets_.empty()) windows_.want_work(*this);
}

// Frees the lock that a member held, and says so with what has arrived from it.
void Window::release_for(WindowPeer& peer) {
  peer.holds = false;
  control_->lock.leave(peer.holds_exclusive);
  WindowAck ack{};
  ack.kind = static_cast<std::uint8_t>(AckKind::unlocked);
  ack.status = static_cast<std::uint8_t>(std::exchange(peer.ack_status, WindowStatus::ok));
  ack.window = peer.id;
  ack.rank = rank_;
  ack.count = peer.received;
  ni_.service_ack(peer.peer, ServiceId::windows, &ack, sizeof ack);
  grant_locks();
}

// --- Results that do not fit into an answer ---

// Answers a get with the memory under runs_scratch_, or a fetch with `bytes`; the frame's buffer is
// held until the answer has left, so a member has at most its window of them.
void Windows::start_reply(PeerId peer, const Window& window, const WindowHead& head,
                          std::vector<std::byte> bytes) {
  std::unique_ptr<Reply> reply = spare_replies_.take();
  reply->windows = this;
  reply->peer = peer;
  reply->window = window.facts_.id;
  reply->name = head.reply;
  reply->base = head.offset;
  reply->offset = 0;
  reply->size = head.bytes;
  reply->from_memory = static_cast<WindowKind>(head.kind) == WindowKind::get;
  if (reply->from_memory) reply->runs = runs_scratch_;
  reply->from = Cursor(reply->runs, 0, 1, 0);
  reply->bytes = std::move(bytes);
  reply->type = FrameType::service_data;
  reply->tag = static_cast<std::uint8_t>(ServiceId::windows);
  reply->done = [](Message* self, Result result) {
    auto& ended = *static_cast<Reply*>(self);
    Windows& windows = *ended.windows;
    if (result == Result::ok && ended.offset < ended.size) return windows.continue_reply(ended);
    windows.ni_->service_release(ended.peer);
    windows.spare_replies_.keep(std::unique_ptr<Reply>(&ended));
  };
  continue_reply(*reply.release());
}

void Windows::continue_reply(Reply& reply) {
  const std::uint64_t size =
      std::min<std::uint64_t>(reply.size - reply.offset, frame_bytes_ - sizeof(WindowReply));
  WindowReply head{reply.name, 0, reply.base + reply.offset};
  reply.frame.resize(sizeof head + size);
  std::byte* const bytes = reply.frame.data() + sizeof head;
  if (reply.from_memory) {
    // Looked up for each frame: the window may be gone meanwhile.
    Window* const window = find(reply.window);
    std::int64_t base = 0;
    std::byte* const memory = window == nullptr ? nullptr : window->resolve(reply.runs, base);
    if (memory == nullptr) {
      head.status = static_cast<std::uint64_t>(WindowStatus::range);
    } else {
      reply.from.set_base(base);
      gather(reply.from, memory, bytes, size);
    }
  } else {
    std::memcpy(bytes, reply.bytes.data() + reply.offset, size);
  }
  const bool failed = head.status != 0;
  if (failed) {
    reply.frame.resize(sizeof head);
    head.offset = reply.size - reply.offset;
  }
  reply.offset = failed ? reply.size : reply.offset + size;
  std::memcpy(reply.frame.data(), &head, sizeof head);
  reply.slices[0] = {reply.frame.data(), reply.frame.size()};
  reply.slice_count = 1;
  ni_->service_post(reply.peer, reply);
}

}  // namespace lfc
