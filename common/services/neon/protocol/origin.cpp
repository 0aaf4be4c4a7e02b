#include "services/neon/protocol/origin.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "services/neon/protocol/origin_mapped.hpp"

namespace lfc::neon {
namespace {

// Returns where the bytes end; the largest number if that is beyond it.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) noexcept {
  return offset + std::min(size, ~offset);
}

// Returns the state of a target, made now if this is its first use.
template <class Peer>
Peer& state_of(SparseTable<Peer>& peers, Rank target) {
  return peers.at(target, target);
}

// Returns whether the put can go straight into the buffer, and overtakes no bytes for the same place that frames carry.
bool may_write(const Stream& to, const Operation& op, const Carrier& carrier) noexcept {
  return op.moved == 0 && to.granted == op.generation && to.token.size > 0 &&
         !to.framed.meets(op.offset, op.size) && carrier.can_write(to.target);
}

}  // namespace

bool is_withdrawn(Stream& stream, std::uint32_t generation) noexcept {
  const auto is_past = [&](std::uint32_t& mark) {
    if (mark != 0 && !reached(mark, generation)) mark = 0;
    return mark == 0;
  };
  if (!is_past(stream.failed)) return true;
  return !is_past(stream.granted) && stream.granted != generation;
}

Origin::Origin(std::uint32_t ranks, const Limits& limits, Outlet& outlet, Carrier& carrier,
               Statistics& statistics)
    : limits_(limits), outlet_(outlet), carrier_(carrier), statistics_(statistics), peers_(ranks) {}

Stream& Origin::stream(Rank target, std::uint32_t tag) {
  Stream& found = state_of(peers_, target).streams.make(tag);
  found.target = target;
  found.tag = tag;
  return found;
}

Status Origin::put(Operation& op, Rank target, std::uint32_t tag, std::uint64_t offset,
                   const void* data, std::uint64_t size, bool final, bool strong) {
  if (target >= peers_.size()) return Status::rank;
  if (outlet_.is_lost(target)) return Status::unreachable;
  Stream& to = stream(target, tag);
  op.whole_end = std::max(op.whole_end, end_of(offset, size));
  if (!op.continues && !may_fit(to, 0, op.whole_end, carrier_)) return Status::range;
  op.type = Operation::Type::put;
  op.data = static_cast<std::byte*>(const_cast<void*>(data));
  op.size = size;
  op.offset = offset;
  op.final = final;
  op.strong = strong;
  begin(to, op);
  return Status::ok;
}

Status Origin::get(Operation& op, Rank target, std::uint32_t tag, std::uint64_t offset, void* data,
                   std::uint64_t size, bool final) {
  if (target >= peers_.size()) return Status::rank;
  if (outlet_.is_lost(target)) return Status::unreachable;
  Stream& from = stream(target, tag);
  if (!may_fit(from, offset, size, carrier_)) return Status::range;
  op.type = Operation::Type::get;
  op.data = static_cast<std::byte*>(data);
  op.size = size;
  op.offset = offset;
  op.final = final;
  op.strong = false;
  begin(from, op);
  return Status::ok;
}

Stream* Origin::find(Rank target, std::uint32_t tag) const noexcept {
  const Peer* const known = target < peers_.size() ? peers_.find(target) : nullptr;
  return known != nullptr ? known->streams.find(tag) : nullptr;
}

bool Origin::merge_notification(Rank target, std::uint32_t tag) {
  Stream* const to = find(target, tag);
  if (to == nullptr || to->queue.empty()) return false;
  Operation& last = *to->queue.back();
  if (last.type != Operation::Type::put || last.final || last.generation != to->generation)
    return false;
  last.final = true;
  to->generation = next_generation(to->generation);
  return true;
}

Status Origin::put_notify(Operation& op, Rank target, std::uint64_t displacement, const void* data,
                          std::uint64_t size, std::span<const Run> runs, std::uint32_t index,
                          bool strong) {
  if (target >= peers_.size()) return Status::rank;
  if (outlet_.is_lost(target)) return Status::unreachable;
  assert(runs.empty() || are_valid(runs, size));
  const std::uint64_t frames =
      runs.empty() ? std::max<std::uint64_t>(1, (size + limits_.frame - 1) / limits_.frame)
                   : count_portions(runs, limits_.frame);
  if (frames > 0xffffffffu) return Status::range;
  Stream& window = state_of(peers_, target).window;
  ++window.generation;  // distinguishes the frames of operations
  op.type = Operation::Type::put_notify;
  op.data = static_cast<std::byte*>(const_cast<void*>(data));
  op.size = size;
  op.runs = runs;
  op.at = {};
  op.offset = displacement;
  op.index = index;
  op.final = false;
  op.strong = strong;
  op.frames = static_cast<std::uint32_t>(frames);
  begin(window, op);
  return Status::ok;
}

Status Origin::get_notify(Operation& op, Rank target, std::uint64_t displacement, void* data,
                          std::uint64_t size, std::uint32_t index) {
  if (target >= peers_.size()) return Status::rank;
  if (outlet_.is_lost(target)) return Status::unreachable;
  op.type = Operation::Type::get_notify;
  op.data = static_cast<std::byte*>(data);
  op.size = size;
  op.offset = displacement;
  op.index = index;
  op.final = false;
  op.strong = false;
  begin(state_of(peers_, target).window, op);
  return Status::ok;
}

std::uint64_t Origin::waiting(Rank target) const noexcept {
  const Peer* const known = peers_.find(target);
  if (known == nullptr) return 0;
  std::uint64_t count = 0;
  for (const Stream& each : known->streams)
    for (const Operation* op = each.queue.front(); op != nullptr; op = op->next) ++count;
  return count;
}

void Origin::begin(Stream& to, Operation& op) {
  op.stream = &to;
  op.writing = op.claimed = op.notified = op.refused = op.issued = false;
  op.key = 0;
  op.status = Status::ok;
  op.unconfirmed = 0;
  op.id = 0;
  op.moved = 0;
  op.generation = to.generation;
  ++state_of(peers_, to.target).open;
  if (access_mapped(to, op, carrier_, statistics_)) return settle(op);
  if (op.final) to.generation = next_generation(to.generation);
  const bool first = to.queue.empty();
  to.queue.push(&op);
  if (first && !to.running) run(to);
}

// Issues the operations of the stream that can start.
Origin::Step Origin::run(Stream& to) {
  if (to.running) return Step::done;
  to.running = true;
  Step step = Step::done;
  while (Operation* op = to.queue.front()) {
    step = issue(to, *op);
    if (step != Step::done) break;
    to.queue.pop();
    op->issued = true;
    settle(*op);
  }
  to.running = false;
  if ((step == Step::room || step == Step::budget) && !to.listed) {
    to.listed = true;
    state_of(peers_, to.target).listed.push_back(&to);
  }
  return step;
}

Origin::Step Origin::issue(Stream& to, Operation& op) {
  switch (op.type) {
    case Operation::Type::put: return issue_put(to, op);
    case Operation::Type::get: return issue_get(to, op);
    default: return issue_notified(to, op);
  }
}

Origin::Step Origin::issue_put(Stream& to, Operation& op) {
  if (op.notified) {
    to.end_generation();  // without a frame
    return Step::done;
  }
  if (op.writing && op.key != 0) return Step::writes;  // which may have notified
  if (is_withdrawn(to, op.generation)) {
    op.status = Status::withdrawn;
    if (op.final) to.end_generation();
    return Step::done;
  }
  const bool overrun = to.granted == op.generation && op.whole_end > to.size;
  if (overrun) op.status = Status::range;
  const bool large = op.size > limits_.eager;
  if (large && !overrun && may_write(to, op, carrier_)) {
    const Step step = start_write(to, op);
    if (op.notified) return issue_put(to, op);
    if (step != Step::done) return step;
  }
  const bool direct = large && op.moved == op.size;
  if (direct && !op.final) return Step::done;
  if (to.writing > 0) return Step::writes;  // frames stay behind them
  do {
    const std::uint64_t left = overrun ? 0 : op.size - op.moved;
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, limits_.frame));
    const bool granted = to.granted == op.generation;
    if (!granted) {
      if (large) return request_grant(to, op, true);
      if (!state_of(peers_, to.target).charge(bytes, limits_.budget))
        return request_grant(to, op, false);
    }
    Header header;
    header.kind = Kind::data;
    header.tag = to.tag;
    header.generation = op.generation;
    header.offset = op.offset + op.moved;
    header.extra = op.whole_end;
    if (overrun) header.flags |= kOverrun;
    if (!granted) header.flags |= kCharged;
    if (op.strong) {
      header.flags |= kStrong;
      header.id = await(op);
    }
    const bool last = bytes == left;
    header.count = to.sent + 1;
    if (last && op.final) header.flags |= kFinal;
    if (!outlet_.send(to.target, header, {}, {op.data + op.moved, bytes})) {
      if (!granted) state_of(peers_, to.target).charged -= bytes + kOverhead;
      return Step::room;
    }
    to.framed.add(header.offset, bytes);
    to.count_frame(last && op.final);
    if (op.strong) ++op.unconfirmed;
    op.moved += bytes;
    if (last) return Step::done;
  } while (true);
}

Origin::Step Origin::start_write(Stream& to, Operation& op) {
  if (to.writing == 0) to.written = {};
  if (to.written.meets(op.offset, op.size)) return Step::writes;
  to.written.add(op.offset, op.size);
  ++to.writing;
  op.writing = true;
  op.moved = op.size;
  op.key = op.final && !op.strong && to.sent == 0 && to.writing == 1 ? to.key : 0;
  ++statistics_.written;
  if (carrier_.write(to.target, to.token, op.offset, op)) return Step::done;
  --statistics_.written;
  --to.writing;
  op.writing = false;
  op.moved = 0;
  outlet_.no_room(to.target);
  return Step::room;
}

Origin::Step Origin::issue_get(Stream& from, Operation& op) {
  if (is_withdrawn(from, op.generation)) {
    op.status = Status::withdrawn;
    if (op.final) from.end_generation();
    return Step::done;
  }
  if (from.writing > 0) return Step::writes;
  const bool granted = from.granted == op.generation;
  if (!granted && !state_of(peers_, from.target).charge(0, limits_.budget))
    return request_grant(from, op, false);
  Header header;
  header.kind = Kind::get;
  header.flags = granted ? 0 : kCharged;
  header.tag = from.tag;
  header.generation = op.generation;
  header.offset = op.offset;
  header.extra = op.size;
  header.count = from.sent + 1;
  if (op.final) header.flags |= kFinal;
  header.id = await(op);
  if (!outlet_.send(from.target, header, {}, {})) {
    if (!granted) state_of(peers_, from.target).charged -= kOverhead;
    stop_awaiting(op);  // the request was not sent, so no reply will come
    return Step::room;
  }
  from.count_frame(op.final);
  return Step::done;
}

// Requests the announcement that the operation waits for, once.
Origin::Step Origin::request_grant(Stream& to, const Operation& op, bool always) {
  const bool requested = (to.requested != 0 && to.requested == op.generation) || to.requests_all;
  // An origin that finds later announcements in mapped memory needs a grant for this one alone.
  const bool later = always && carrier_.mapped(to.target, 0, 0, 0) == nullptr;
  if (!requested || (later && !to.requests_all)) {
    Header header;
    header.kind = Kind::want;
    header.flags = later ? kAlways : 0;
    header.tag = to.tag;
    header.generation = op.generation;
    to.requested = op.generation;
    to.requests_all = to.requests_all || later;
    ++statistics_.deferred;
    outlet_.control(to.target, header);
  }
  return always ? Step::grant : Step::budget;
}

// Completes the operation if nothing of it is left to wait for.
void Origin::settle(Operation& op) {
  if (!op.issued || op.writing || op.unconfirmed > 0) return;
  const bool reads = op.type == Operation::Type::get || op.type == Operation::Type::get_notify;
  if (reads && op.id != 0) return;  // the frame `answer` completes it
  finish(op);
}

void Origin::finish(Operation& op) {
  stop_awaiting(op);
  --state_of(peers_, op.stream->target).open;
  op.done(&op, op.status);
}

std::uint64_t Origin::await(Operation& op) {
  if (op.id == 0) op.id = awaited_.enter(op);
  return op.id;
}

Operation* Origin::awaited(Rank from, std::uint64_t id) {
  Operation* const op = awaited_.find(id);
  return op != nullptr && op->stream->target == from ? op : nullptr;
}

void Origin::stop_awaiting(Operation& op) {
  if (op.id != 0) awaited_.leave(op.id);
  op.id = 0;
}

bool Origin::on_reply(Rank from, const Header& header, const std::byte* payload, std::size_t size) {
  Operation* op = awaited(from, header.id);
  if (op == nullptr) return false;
  if (op->type != Operation::Type::get && op->type != Operation::Type::get_notify) return false;
  if ((header.flags & kFailed) != 0) {
    op->status = (header.flags & kOverrun) != 0 ? Status::range : Status::withdrawn;
    finish(*op);
    return true;
  }
  if (!fits(header.offset, size, op->size) || size > op->size - op->moved) return false;
  if (size > 0) std::memcpy(op->data + header.offset, payload, size);
  op->moved += size;
  if (op->moved == op->size) finish(*op);
  return true;
}

bool Origin::on_delivered(Rank from, const Header& header) {
  Operation* op = awaited(from, header.id);
  if (op == nullptr || !op->strong || op->unconfirmed == 0) return false;
  if ((header.flags & kFailed) != 0)
    op->status = (header.flags & kOverrun) != 0 ? Status::range : Status::withdrawn;
  --op->unconfirmed;
  settle(*op);
  return true;
}

bool Origin::on_grant(Rank from, const Header& header, const Token& token) {
  Stream* const to = find(from, header.tag);
  if (to == nullptr || to->requested == 0) return false;
  if ((header.flags & kFailed) != 0) {
    if (to->failed == 0 || reached(header.generation, to->failed)) to->failed = header.generation;
    if ((header.flags & kRecalled) != 0) to->recalled = header.generation;
    acknowledge_recall(*to);
  } else if (to->granted == 0 || reached(header.generation, to->granted)) {
    to->granted = header.generation;
    to->size = header.extra;
    to->token = token;
    to->key = static_cast<std::uint32_t>(header.id);
  }
  run(*to);
  return true;
}

// Acknowledges that the target has withdrawn a buffer, once no direct write to it is under way. No later write begins.
void Origin::acknowledge_recall(Stream& to) {
  if (to.recalled == 0 || to.writing > 0) return;
  Header header;
  header.kind = Kind::recalled;
  header.tag = to.tag;
  header.generation = std::exchange(to.recalled, 0u);
  outlet_.control(to.target, header);
}

bool Origin::on_refund(Rank from, std::uint32_t bytes) {
  Peer& peer = state_of(peers_, from);
  if (bytes > peer.charged) return false;
  peer.charged -= bytes;
  pump(from);
  return true;
}

bool Origin::pump(Rank target) {
  Peer& peer = state_of(peers_, target);
  std::vector<Stream*> listed = std::exchange(peer.listed, {});
  for (std::size_t i = 0; i < listed.size(); ++i) {
    listed[i]->listed = false;
    if (run(*listed[i]) != Step::room) continue;
    for (++i; i < listed.size(); ++i) peer.listed.push_back(listed[i]);
    return false;
  }
  return true;
}

void Origin::written(Operation& op, Status status, Written what) {
  Stream& to = *op.stream;
  --to.writing;
  op.writing = false;
  op.notified = what == Written::notified;
  if (op.notified) ++statistics_.puts_notified;
  if (what == Written::refused && outlet_.is_lost(to.target)) {
    status = Status::unreachable;
  } else if (what == Written::refused) {
    op.refused = true;
    op.issued = false;
    to.queue.push(&op);
  }
  if (std::exchange(op.claimed, false)) to.entry->release(op.generation, op.final);
  if (status != Status::ok) op.status = status;
  acknowledge_recall(to);
  if (op.issued) settle(op);
  if (!to.running) run(to);
}

void Origin::on_lost(Rank target) {
  Peer* const known = peers_.find(target);
  if (known == nullptr) return;  // no operation was begun
  known->listed.clear();
  const auto drop = [&](Stream& to) {
    to.listed = false;
    // written() completes direct writes under way.
    Fifo<Operation> rest;
    while (Operation* op = to.queue.pop()) rest.push(op);
    while (Operation* op = rest.pop()) {
      op->status = Status::unreachable;
      op->issued = true;
      op->unconfirmed = 0;
      if (!op->writing) finish(*op);
    }
  };
  for (Stream& each : known->streams) drop(each);
  drop(known->window);
  awaited_.for_each([&](Operation& op) {
    if (op.stream->target != target) return;
    op.status = Status::unreachable;
    op.unconfirmed = 0;
    if (!op.writing) finish(op);
  });
}

}  // namespace lfc::neon
