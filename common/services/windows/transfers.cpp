// Window: the calls of operations, and the host's part of them: loads and stores to mapped memory.
#include <array>
#include <cstring>
#include <vector>

#include "services/windows/window.hpp"
#include "services/windows/window_service.hpp"

namespace lfc {
namespace {

using Kind = WindowCall::Kind;

// Copies bytes between two walks.
void copy(Cursor& from, const std::byte* source, Cursor& to, std::byte* sink, std::uint64_t bytes) {
  for (Piece piece; from.next(bytes, piece); bytes -= piece.length)
    scatter(to, sink, source + piece.offset, piece.length);
}

}  // namespace

// --- The calls ---

WindowStatus Window::put(std::uint32_t target, const View& origin, const View& there,
                         void* request) {
  return issue({.kind = Kind::put,
                .target = target,
                .origin = origin,
                .there = there,
                .bytes = origin.bytes(),
                .request = request});
}

WindowStatus Window::get(std::uint32_t target, const View& result, const View& there,
                         void* request) {
  return issue({.kind = Kind::get,
                .target = target,
                .result = result,
                .there = there,
                .bytes = there.bytes(),
                .request = request});
}

WindowStatus Window::accumulate(std::uint32_t target, Accumulation what, const View& origin,
                                const View& there, void* request) {
  return issue({.kind = Kind::accumulate,
                .what = what,
                .target = target,
                .origin = origin,
                .there = there,
                .bytes = origin.bytes(),
                .request = request});
}

WindowStatus Window::fetch(std::uint32_t target, Accumulation what, const View& origin,
                           const View& result, const View& there, void* request) {
  const bool reads_only = what.operation == Accumulate::no_op;
  return issue({.kind = Kind::fetch,
                .what = what,
                .target = target,
                .origin = reads_only ? View{} : origin,
                .result = result,
                .there = there,
                .bytes = there.bytes(),
                .request = request});
}

WindowStatus Window::compare_and_swap(std::uint32_t target, const void* compare, const void* value,
                                      void* result, std::size_t size, std::int64_t offset) {
  if (size == 0 || size > 8) return WindowStatus::invalid;
  std::array<std::byte, 16> operands;
  std::memcpy(operands.data(), compare, size);
  std::memcpy(operands.data() + size, value, size);
  if (issue_plain({Kind::compare_swap,
                   {},
                   target,
                   operands.data(),
                   static_cast<std::byte*>(result),
                   static_cast<std::uint64_t>(offset),
                   size}))
    return WindowStatus::ok;
  const Run run{0, size, 0, 1};
  const auto extent = static_cast<std::int64_t>(size);
  WindowCall call;
  call.kind = Kind::compare_swap;
  call.target = target;
  call.operands = operands;
  call.result = {static_cast<std::byte*>(result), 0, {&run, 1}, extent, 1, size};
  call.there = {nullptr, offset, {&run, 1}, extent, 1, size};
  call.bytes = size;
  return issue(call);
}

// The short path of an operation that one frame carries or the link copies at once. False: another kind, and nothing
// was done.
bool Window::issue_plain(const PlainCall& call) {
  const rma::OriginPeer& to = peer(call.target);
  const bool by_link = call.is_put() || call.is_get();
  if (to.reach.mapped || (by_link && to.reach.registered && !to.link_known)) return false;
  bool joined = false;  // no copy of the kernel
  const bool issued = windows_.locked([&] {
    const bool done = protocol_.origin.issue_plain(call);
    joined = is_copying(peer(call.target));
    return done;
  });
  if (issued && by_link && to.reach.within_call) drive_if_quiet(joined ? 0 : 1);
  return issued;
}

// Does an operation that the short paths by loads and stores have not done.
WindowStatus Window::plain(WindowCall::Kind kind, std::uint32_t target, Accumulation what,
                           const void* origin, void* result, std::uint64_t bytes,
                           std::int64_t displacement) {
  std::int64_t offset = 0;
  if (!offset_of(target, displacement, offset)) return WindowStatus::range;
  if (issue_plain({kind, what, target, static_cast<const std::byte*>(origin),
                   static_cast<std::byte*>(result), static_cast<std::uint64_t>(offset), bytes}))
    return WindowStatus::ok;
  const Run run{0, bytes, 0, 1};
  const auto extent = static_cast<std::int64_t>(bytes);
  const View view{nullptr, offset, {&run, 1}, extent, 1, bytes};
  WindowCall call;
  call.kind = kind;
  call.what = what;
  call.target = target;
  call.there = call.origin = call.result = view;
  call.origin.offset = call.result.offset = 0;
  call.origin.base = static_cast<std::byte*>(const_cast<void*>(origin));
  call.result.base = static_cast<std::byte*>(result);
  call.bytes = bytes;
  return issue(call);
}

// --- Which way ---

// The link is queried for its abilities at the first operation that it could do.
void Window::find_link(std::uint32_t target) {
  if (!peer(target).link_known) windows_.find_link(*this, target);
}

WindowStatus Window::issue(const WindowCall& call) {
  if (call.request != nullptr)
    drive_if_quiet();  // a call that waits for a finished one drives nothing
  // Under the lock, because another thread may attach or detach memory.
  const auto check = [&] { return protocol_.origin.check(call); };
  const WindowStatus fault = protocol_.memory.dynamic() ? windows_.locked(check) : check();
  if (fault != WindowStatus::ok) return fault;
  const Reach& reach = peer(call.target).reach;
  if (call.bytes != 0 && !reach.mapped && reach.registered && call.shape().contiguous)
    find_link(call.target);
  bool joined = false;  // others that the link copies later
  const auto try_now = [&] {
    const rma::Issued issued = protocol_.origin.issue(call);
    joined = is_copying(peer(call.target));
    return issued;
  };
  rma::Issued issued = windows_.visited(try_now);
  for (; issued.full; issued = windows_.visited(try_now)) {
    const WindowStatus status = await_room(call.target);
    if (status != WindowStatus::ok) return status;
  }
  if (issued.status != WindowStatus::ok || issued.way == Way::later || issued.way == Way::link)
    return issued.status;
  if (issued.way == Way::at_once) drive_if_quiet(joined ? 0 : 1);
  WindowStatus status = WindowStatus::ok;
  if (issued.way == Way::stores) {
    Walk walk(call);
    status = execute(call, walk);
  }
  if (call.request != nullptr && status == WindowStatus::ok)
    windows_.host().finished(call.request, status);
  return status;
}

// Called without the lock.
void Window::run_host_work() {
  rma::Origin& origin = protocol_.origin;
  std::size_t index = 0;
  const auto next_target = [&] { return windows_.locked([&] { return origin.used_at(index++); }); };
  while (rma::OriginPeer* const to = next_target()) {
    const auto next = [&] {
      return windows_.locked([&] { return origin.begin_host_operation(*to); });
    };
    for (WindowOp* op = next(); op != nullptr; op = next()) {
      const WindowStatus status = execute(*op, op->walk);
      windows_.visited([&] { origin.host_operation_done(*op, status); });
    }
  }
}

// --- Loads and stores ---

Hold Window::host_hold(std::uint64_t count) noexcept {
  bool began = false;
  const Hold hold = protocol_.memory.host_hold(count, began);
  if (began) windows_.settle_later(*this);
  return hold;
}

// `range`: memory of a dynamic window that was detached after the check.
WindowStatus Window::execute(const WindowCall& call, Walk& walk) {
  order_.before_loads();
  if (call.kind != Kind::get) order_.note_stores();
  std::byte* memory = peer(call.target).mapped;
  if (protocol_.memory.dynamic()) {  // ourselves
    std::int64_t base = 0;
    Run first = call.there.runs[0];
    first.offset += call.there.offset;
    memory = windows_.locked([&] { return protocol_.memory.resolve({&first, 1}, base); });
    if (memory == nullptr) return WindowStatus::range;
    walk.to.set_base(call.there.offset + base);
  }
  switch (call.kind) {
    case Kind::put: copy(walk.out, call.origin.base, walk.to, memory, call.bytes); break;
    case Kind::get: copy(walk.to, memory, walk.in, call.result.base, call.bytes); break;
    case Kind::compare_swap: {
      std::array<std::byte, 8> old;
      Piece piece;
      walk.to.next(call.bytes, piece);
      lfc::compare_and_swap(memory + piece.offset, call.operands.data(),
                            call.operands.data() + call.bytes, old.data(), call.bytes,
                            elements(call.target, 1));
      scatter(walk.in, call.result.base, old.data(), call.bytes);
      break;
    }
    case Kind::accumulate:
    case Kind::fetch: combine(call, walk, memory); break;
  }
  return WindowStatus::ok;
}

// Packs operands and results, unless they are packed in place already.
void Window::combine(const WindowCall& call, Walk& walk, std::byte* memory) {
  const ElementGuard guard = elements(call.target, call.bytes / call.unit());
  if (call.kind == Kind::accumulate &&
      accumulate_pairs(call.what, walk.to, memory, walk.out, call.origin.base, call.bytes, guard))
    return;
  std::vector<std::byte> operands;
  std::vector<std::byte> old;
  const std::byte* from = nullptr;
  if (call.sends_operands()) {
    if (call.origin.contiguous()) {
      from = call.origin.base + call.origin.begin();
    } else {
      operands.resize(call.bytes);
      gather(walk.out, call.origin.base, operands.data(), call.bytes);
      from = operands.data();
    }
  }
  const bool packed_result = call.result.contiguous();
  std::byte* before = nullptr;
  if (call.kind == Kind::fetch) {
    if (packed_result) {
      before = call.result.base + call.result.begin();
    } else {
      old.resize(call.bytes);
      before = old.data();
    }
  }
  lfc::accumulate(call.what, walk.to, memory, from, before, call.bytes, guard);
  if (call.kind == Kind::fetch && !packed_result)
    scatter(walk.in, call.result.base, before, call.bytes);
}

}  // namespace lfc
