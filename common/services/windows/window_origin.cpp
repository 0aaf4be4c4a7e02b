// Windows, the origin's part: how an operation gets to its target.
#include <algorithm>
#include <cstring>

#include "base/limits.hpp"
#include "services/windows/window_op.hpp"

namespace lfc {
namespace {

using Kind = WindowOp::Kind;

// From this size on the link moves contiguous bytes itself if it can; below, a frame is as good and
// needs no answer of its own.

// Copies between two walks.
void copy(Cursor& from, const std::byte* source, Cursor& to, std::byte* sink, std::uint64_t bytes) {
  for (Piece piece; from.next(bytes, piece); bytes -= piece.length)
    scatter(to, sink, source + piece.offset, piece.length);
}

}  // namespace

void WindowOp::take(const WindowOp& model) {
  const std::uint64_t own_name = name;
  std::vector<Run> own_storage = std::move(storage);
  *this = model;
  name = own_name;
  storage = std::move(own_storage);
  storage.clear();
  View* const views[] = {&origin, &result, &there};
  for (const View* view : views)
    storage.insert(storage.end(), view->runs.begin(), view->runs.end());
  std::size_t at = 0;
  for (View* view : views) {
    view->runs = {storage.data() + at, view->runs.size()};
    at += view->runs.size();
  }
  if (kind == Kind::compare_swap) origin.base = operands.data();
  start_walks();
}

// --- The calls ---

WindowStatus Window::put(std::uint32_t target, const View& origin, const View& there,
                         void* request) {
  WindowOp op;
  op.kind = Kind::put;
  op.target = target;
  op.origin = origin;
  op.there = there;
  op.bytes = origin.bytes();
  op.request = request;
  return issue(op);
}

WindowStatus Window::get(std::uint32_t target, const View& result, const View& there,
                         void* request) {
  WindowOp op;
  op.kind = Kind::get;
  op.target = target;
  op.result = result;
  op.there = there;
  op.bytes = there.bytes();
  op.request = request;
  return issue(op);
}

WindowStatus Window::accumulate(std::uint32_t target, Accumulation what, const View& origin,
                                const View& there, void* request) {
  WindowOp op;
  op.kind = Kind::accumulate;
  op.what = what;
  op.target = target;
  op.origin = origin;
  op.there = there;
  op.bytes = origin.bytes();
  op.request = request;
  return issue(op);
}

WindowStatus Window::fetch(std::uint32_t target, Accumulation what, const View& origin,
                           const View& result, const View& there, void* request) {
  WindowOp op;
  op.kind = Kind::fetch;
  op.what = what;
  op.target = target;
  if (what.operation != Accumulate::no_op) op.origin = origin;
  op.result = result;
  op.there = there;
  op.bytes = there.bytes();
  op.request = request;
  return issue(op);
}

WindowStatus Window::compare_and_swap(std::uint32_t target, const void* compare, const void* value,
                                      void* result, std::size_t size, std::int64_t offset) {
  if (size == 0 || size > 8) return WindowStatus::invalid;
  const Run run{0, size, 0, 1};
  WindowOp op;
  op.kind = Kind::compare_swap;
  op.target = target;
  std::memcpy(op.operands.data(), compare, size);
  std::memcpy(op.operands.data() + size, value, size);
  op.result = {static_cast<std::byte*>(result), 0, {&run, 1},
               static_cast<std::int64_t>(size), 1, size};
  op.there = {nullptr, offset, {&run, 1}, static_cast<std::int64_t>(size), 1, size};
  op.bytes = size;
  return issue(op);
}

// --- Which way ---

// Whether all of it is the target's memory, as far as is known here: what others have attached they know.
WindowStatus Window::check_range(const WindowPeer& peer, const View& there) const noexcept {
  Bounds bounds;
  for (const Run& run : there.runs) {
    Bounds own;
    if (!bounds_of({&run, 1}, own)) return WindowStatus::range;
    bounds.low = &run == there.runs.data() ? own.low : std::min(bounds.low, own.low);
    bounds.high = &run == there.runs.data() ? own.high : std::max(bounds.high, own.high);
  }
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(there.extent, static_cast<std::int64_t>(there.count - 1), &reach))
    return WindowStatus::range;
  std::int64_t& moved = reach < 0 ? bounds.low : bounds.high;
  if (__builtin_add_overflow(moved, reach, &moved) ||
      __builtin_add_overflow(bounds.low, there.offset, &bounds.low) ||
      __builtin_add_overflow(bounds.high, there.offset, &bounds.high) || bounds.low < 0)
    return WindowStatus::range;
  if (flavor_ != Flavor::dynamic)
    return static_cast<std::uint64_t>(bounds.high) <= peer.size ? WindowStatus::ok
                                                                : WindowStatus::range;
  if (!peer.is_mapped()) return WindowStatus::ok;
  std::int64_t base = 0;
  for (std::uint64_t i = 0; i < there.count; ++i)
    for (Run run : there.runs) {
      run.offset += there.offset + there.extent * static_cast<std::int64_t>(i);
      if (resolve({&run, 1}, base) == nullptr) return WindowStatus::range;
    }
  return WindowStatus::ok;
}

bool Window::passive(const WindowPeer& peer) const noexcept {
  return peer.lock != WindowPeer::Lock::none || lock_all_;
}

// Whether an operation may reach the target now. Asks for the lock when it is the first to need it.
bool Window::permitted(WindowPeer& peer) {
  if (passive(peer)) {
    if (peer.lock == WindowPeer::Lock::none) {
      peer.lock = lock_all_assumed_ ? WindowPeer::Lock::assumed : WindowPeer::Lock::wanted;
      peer.exclusive = false;
    }
    if (peer.lock == WindowPeer::Lock::wanted) {
      peer.lock = WindowPeer::Lock::requested;
      signal(peer, WindowKind::lock, peer.exclusive ? kExclusive : 0, 0);
    }
    return peer.lock != WindowPeer::Lock::requested;
  }
  if (peer.in_access)
    return peer.access_granted || static_cast<std::int32_t>(peer.posts - peer.posts_used) >= 0;
  return true;
}

bool Window::native_possible(WindowPeer& peer, const WindowOp& op) {
  if (flavor_ == Flavor::dynamic || peer.is_mapped()) return false;
  if (op.kind == Kind::get) return op.result.contiguous() && op.there.contiguous();
  if (op.kind != Kind::put || !op.origin.contiguous() || !op.there.contiguous()) return false;
  if (!peer.native_known) {
    peer.native_known = true;
    peer.native = ni_.native_remote_memory(peer.peer);
    peer.native_small = peer.native && ni_.link_traits(peer.peer).one_sided;
  }
  return peer.native && (peer.native_small || op.bytes >= limits::kWindowNative);
}

WindowStatus Window::issue(WindowOp& op) {
  if (op.request != nullptr)
    drive_if_quiet();  // who waits for one that has finished drives nothing
  op.window = this;
  WindowPeer& peer = peers_[op.target];
  if ((op.sends_operands() && op.kind != Kind::compare_swap && op.origin.bytes() < op.bytes) ||
      (op.has_result() && op.result.bytes() < op.bytes) || op.there.bytes() < op.bytes)
    return WindowStatus::truncated;
  if (op.bytes != 0) {
    const WindowStatus range = check_range(peer, op.there);
    if (range != WindowStatus::ok) return range;
  }
  bool native = op.bytes != 0 && native_possible(peer, op);
  bool at_once = false;
  {
    const Ni::Access access(ni_);
    if (!passive(peer) && !peer.in_access && !fence_open_) return WindowStatus::sync;
    if (lost_) return WindowStatus::lost;
    if (op.bytes == 0) {
      at_once = true;
    } else {
      const bool ready = peer.first == nullptr && !peer.carrying && permitted(peer);
      // Small ones stay in order. In an active epoch they are not done before the target says so: a frame, which costs
      // a tenth, is soon enough. In a passive one they shall not wait for anybody.
      native = native &&
               (op.bytes >= limits::kWindowNative || (passive(peer) && !frames_under_way(peer)));
      at_once = ready && (peer.is_mapped() || native);
      op.native = native;
      if (at_once && native) ++peer.natives;
      if (!at_once && !(ready && issue_in_frames(peer, op))) {
        WindowOp& own = windows_.take_op();
        own.take(op);
        if (own.has_result()) ++peer.replies;
        enqueue(peer, own);
        pump(peer);
        return WindowStatus::ok;
      }
    }
  }
  if (op.bytes != 0 && at_once) {
    if (native) {
      start_native(peer, op);
      return WindowStatus::ok;
    }
    op.start_walks();
    execute_mapped(peer, op);
  }
  if (op.request != nullptr) windows_.host().finished(op.request, WindowStatus::ok);
  return WindowStatus::ok;
}

// Whether something that goes in frames has not been dealt with yet. MPI orders nothing but accumulates, but programs put,
// fetch and get the same element without a flush between them, and other implementations let them.
bool Window::frames_under_way(const WindowPeer& peer) const noexcept {
  return peer.replies != 0 || peer.carrying || peer.counted < peer.wanted ||
         (peer.first != nullptr && !peer.last->native);
}

// Sends an operation that one frame can carry and that gets no result. False: it is another one, and nothing was sent.
bool Window::issue_in_frames(WindowPeer& peer, WindowOp& op) {
  if (op.has_result() || op.bytes > windows_.frame_bytes_) return false;
  op.start_walks();
  if (cut_fragment(op) != op.bytes) return false;
  send_fragment(peer, op, op.bytes);
  return true;
}

// --- Mapped memory ---

// How that many elements of a mapped member, or our own, may be changed by whoever comes: many of them ask all members to
// take the lock.
Hold Window::hold(std::uint64_t count) noexcept {
  if (alone_.load(std::memory_order_acquire)) return Hold::alone;
  if (count <= kFewElements || !all_singles_known_) return Hold::shared;
  bool all = true;
  for (const WindowPeer& peer : peers_)
    if (peer.is_mapped() && !peer.control->singles.given_up()) all = false;
  if (!all) return Hold::shared;
  alone_.store(true, std::memory_order_release);
  return Hold::alone;
}

// The same for the host, which is at no element of its own now.
Hold Window::host_hold(std::uint64_t count) noexcept {
  SingleElements& own = control_->singles;
  if (count <= kFewElements && own.begin()) {
    windows_.singles_.push_back(this);
    return Hold::none;
  }
  const Hold now = hold(count);
  if (now == Hold::alone || !own.settle()) return now;
  return hold(count);
}

void Window::execute_mapped(const WindowPeer& peer, WindowOp& op) {
  order_loads();
  std::byte* memory = peer.mapped;
  if (flavor_ == Flavor::dynamic) {  // ourselves; in the range, as it was when that was checked
    std::int64_t base = 0;
    Run first = op.there.runs[0];
    first.offset += op.there.offset;
    memory = resolve({&first, 1}, base);
    if (memory == nullptr) return;
    op.to.set_base(op.there.offset + base);
  }
  switch (op.kind) {
    case Kind::put:
      note_stores();
      copy(op.out, op.origin.base, op.to, memory, op.bytes);
      return;
    case Kind::get: copy(op.to, memory, op.in, op.result.base, op.bytes); return;
    case Kind::compare_swap: {
      const ElementGuard guard = elements(op.target, 1);
      std::array<std::byte, 8> old;
      Piece piece;
      op.to.next(op.bytes, piece);
      lfc::compare_and_swap(memory + piece.offset, op.operands.data(),
                            op.operands.data() + op.bytes, old.data(), op.bytes, guard);
      scatter(op.in, op.result.base, old.data(), op.bytes);
      return;
    }
    case Kind::accumulate:
    case Kind::fetch: break;
  }
  const ElementGuard guard = elements(op.target, op.bytes / op.unit());
  if (op.kind == Kind::accumulate &&
      accumulate_pairs(op.what, op.to, memory, op.out, op.origin.base, op.bytes, guard))
    return;
  // Packed operands and results, in place where they are packed already.
  const bool packed_origin = op.origin.contiguous();
  const bool packed_result = op.result.contiguous();
  std::vector<std::byte> operands;
  std::vector<std::byte> old;
  const std::byte* from = nullptr;
  if (op.sends_operands()) {
    if (packed_origin) {
      from = op.origin.base + op.origin.offset + op.origin.runs[0].offset;
    } else {
      operands.resize(op.bytes);
      gather(op.out, op.origin.base, operands.data(), op.bytes);
      from = operands.data();
    }
  }
  std::byte* before = nullptr;
  if (op.kind == Kind::fetch) {
    if (packed_result) {
      before = op.result.base + op.result.offset + op.result.runs[0].offset;
    } else {
      old.resize(op.bytes);
      before = old.data();
    }
  }
  lfc::accumulate(op.what, op.to, memory, from, before, op.bytes, guard);
  if (op.kind == Kind::fetch && !packed_result) scatter(op.in, op.result.base, before, op.bytes);
}

// --- By the link itself ---

// Calls copy(peer, address there) where the link may copy small pieces within the call: as issue() decides, for
// who has the lock.
template <class Copy>
bool Window::copy_at_once(std::uint32_t target, std::int64_t displacement, std::uint64_t bytes,
                          Copy copy) noexcept {
  const WindowPeer& peer = peers_[target];
  std::uint64_t offset = 0;
  if (threads_ || bytes == 0 || !inside(peer, displacement, bytes, offset)) return false;
  const Ni::Access access(ni_);
  return peer.native_small && peer.lock >= WindowPeer::Lock::held && peer.first == nullptr &&
         !troubled() && !frames_under_way(peer) && copy(peer, peer.base + offset);
}

bool Window::put_at_once(std::uint32_t target, const void* from, std::int64_t displacement,
                         std::uint64_t bytes) noexcept {
  return copy_at_once(target, displacement, bytes,
                      [&](const WindowPeer& peer, std::uint64_t address) {
                        return ni_.put_at_once(peer.peer, from, address, peer.region, bytes);
                      });
}

bool Window::get_at_once(std::uint32_t target, void* to, std::int64_t displacement,
                         std::uint64_t bytes) noexcept {
  return copy_at_once(target, displacement, bytes,
                      [&](const WindowPeer& peer, std::uint64_t address) {
                        return ni_.get_at_once(peer.peer, to, address, peer.region, bytes);
                      });
}

// Called without the NI's lock; the operation is counted in peer.natives.
void Window::start_native(WindowPeer& peer, const WindowOp& op) {
  std::unique_ptr<Windows::Native> native;
  {
    const Ni::Access access(ni_);
    native = windows_.spare_natives_.take();
  }
  native->windows = &windows_;
  native->window = facts_.id;
  native->rank = op.target;
  native->request = op.request;
  native->done = [](Operation* operation, Result result) {
    std::unique_ptr<Windows::Native> ended(static_cast<Windows::Native*>(operation));
    Windows& windows = *ended->windows;
    void* const request = ended->request;
    const WindowStatus status = result == Result::ok            ? WindowStatus::ok
                                : result == Result::unreachable ? WindowStatus::lost
                                                                : WindowStatus::range;
    {
      const Ni::Access access(windows.ni());
      if (Window* window = windows.find(ended->window)) {
        --window->peers_[ended->rank].natives;
        if (status != WindowStatus::ok) window->error_ = status;
      }
      windows.spare_natives_.keep(std::move(ended));
    }
    if (request != nullptr) windows.host().finished(request, status);
  };
  const auto address = peer.base + static_cast<std::uint64_t>(op.there.offset) +
                       static_cast<std::uint64_t>(op.there.runs[0].offset);
  if (op.kind == Kind::put) {
    const std::byte* from = op.origin.base + op.origin.offset + op.origin.runs[0].offset;
    ni_.put(peer.peer, from, nullptr, address, peer.region, op.bytes, native.release());
  } else {
    std::byte* to = op.result.base + op.result.offset + op.result.runs[0].offset;
    ni_.get(peer.peer, to, nullptr, address, peer.region, op.bytes, native.release());
  }
}

}  // namespace lfc
