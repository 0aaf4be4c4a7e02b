#include "services/windows/protocol/pending_operations.hpp"

#include "services/windows/protocol/carrier.hpp"
#include "services/windows/protocol/origin.hpp"

namespace lfc {
namespace {

// The storage for runs that an unused operation keeps for the next one.
constexpr std::size_t kSpareRuns = 64;

}  // namespace

void WindowOp::take(const WindowCall& call) {
  static_cast<WindowCall&>(*this) = call;
  status = WindowStatus::ok;
  executing = ended = false;
  next = nullptr;
  storage.clear();
  View* const views[] = {&origin, &result, &there};
  for (const View* view : views)
    storage.insert(storage.end(), view->runs.begin(), view->runs.end());
  std::size_t at = 0;
  for (View* view : views) {
    view->runs = {storage.data() + at, view->runs.size()};
    at += view->runs.size();
  }
  walk = Walk(*this);
}

void WindowOp::take(const PlainCall& call) noexcept {
  kind = call.kind;
  what = call.what;
  target = call.target;
  bytes = call.bytes;
  request = nullptr;
  origin.runs = there.runs = {};
  piece = {0, call.bytes, 0, 1};
  result = {call.result, 0, {&piece, 1}, static_cast<std::int64_t>(call.bytes), 1, call.bytes};
  way = Way::frames;
  status = WindowStatus::ok;
  executing = ended = false;
  next = nullptr;
  walk.in = result.cursor();
  walk.sent = call.bytes;
  walk.received = walk.in_place = 0;
}

void Operations::give_back(WindowOp& op) noexcept {
  if (op.storage.capacity() > kSpareRuns) op.storage = {};
  ops_.give_back(op);
}

WindowOp* Operations::find(std::uint64_t name, PeerId peer) noexcept {
  WindowOp* const op = ops_.find(name);
  const bool theirs =
      op != nullptr && op->has_result() && op->owner->carrier().peer_of(op->target) == peer;
  return theirs ? op : nullptr;
}

void Operations::finish(WindowOp& op, WindowStatus status) {
  if (op.request == nullptr) {
    if (status != WindowStatus::ok) op.owner->trouble().error = status;
    give_back(op);
    return;
  }
  op.status = status;
  op.ended = true;
  finished_.push_back(&op);
  want_host();
}

std::vector<Operations::Ended> Operations::take_finished() {
  host_wanted_.store(false, std::memory_order_relaxed);
  std::vector<Ended> ended;
  for (WindowOp* op : finished_) {
    ended.push_back({op->request, op->status});
    give_back(*op);
  }
  finished_.clear();
  return ended;
}

std::size_t Operations::count() noexcept {
  std::size_t count = 0;
  ops_.for_each([&](const WindowOp&) { ++count; });
  return count;
}

}  // namespace lfc
