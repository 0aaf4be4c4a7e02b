#include "services/windows/protocol/target.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/limits.hpp"
#include "base/stored_words.hpp"
#include "services/windows/protocol/bundle.hpp"

namespace lfc::rma {

namespace {

// Reads the runs at the beginning of a fragment's payload, or the one piece of a whole operation. False: invalid.
bool read_runs(WindowHead& head, std::span<const std::byte>& rest, std::vector<Run>& runs) {
  if (head.runs == 0) {
    runs.assign(1, {static_cast<std::int64_t>(head.offset), head.bytes, 0, 1});
    head.offset = 0;
    return head.bytes != 0;
  }
  if (head.runs > rest.size() / sizeof(Run)) return false;
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

Target::Target(std::uint32_t ranks, ExposedMemory& memory, Carrier& carrier)
    : memory_(memory), carrier_(carrier), peers_(ranks) {}

// Kept out of line, so that peer() takes few instructions in each frame's path.
[[gnu::noinline, gnu::cold]] TargetPeer& Target::make(Rank rank) {
  return *(peers_[rank] = std::make_unique<TargetPeer>());
}

Verdict Target::serve(Rank from, WindowHead head, std::span<const std::byte> rest) {
  if (!read_runs(head, rest, runs_)) return Verdict::malformed;
  std::int64_t base = 0;
  std::byte* const memory = memory_.resolve(runs_, base);
  switch (static_cast<WindowKind>(head.kind)) {
    case WindowKind::put: {
      if (rest.size() != head.bytes) return Verdict::malformed;
      Cursor to(runs_, 0, 1, base);
      if (memory != nullptr) scatter(to, memory, rest.data(), head.bytes);
      return count(from, head, memory == nullptr ? WindowStatus::range : WindowStatus::ok);
    }
    case WindowKind::get:
      if (!rest.empty()) return Verdict::malformed;
      carrier_.reply(from, head, runs_, {});
      return Verdict::hold;
    case WindowKind::compare_swap: return serve_swap(from, head, rest, memory, base);
    default: return serve_accumulate(from, head, rest, memory, base);
  }
}

Verdict Target::serve_bundle(Rank from, const WindowHead& head, std::span<const std::byte> rest) {
  if (rest.size() != head.bytes || !is_bundle(rest)) return Verdict::malformed;
  WindowStatus status = WindowStatus::ok;
  BundleReader next(rest);
  for (; next; next.advance()) {
    const BundleEntry& entry = next.entry();
    const Run run{static_cast<std::int64_t>(entry.offset), entry.bytes, 0, 1};
    std::int64_t base = 0;
    std::byte* const memory = memory_.resolve({&run, 1}, base);
    if (memory == nullptr) {
      status = WindowStatus::range;
      continue;
    }
    std::byte* const at = memory + (base + run.offset);
    if (entry.kind == static_cast<std::uint8_t>(WindowKind::put)) {
      store_all_words(at, next.operands(), entry.bytes);  // programs poll them
    } else {
      const Accumulation what{static_cast<Accumulate>(entry.operation),
                              static_cast<Element>(entry.element)};
      const std::uint64_t count = entry.bytes / size_of(what.element);
      lfc::accumulate(what, at, next.operands(), nullptr, count,
                      {memory_.control().elements, memory_.hold(count)});
    }
  }
  if (!next.at_end()) return Verdict::malformed;  // its sender has changed it since is_bundle()
  return count(from, head, status);
}

Verdict Target::serve_swap(Rank from, const WindowHead& head, std::span<const std::byte> rest,
                           std::byte* memory, std::int64_t base) {
  if (head.bytes > 8 || rest.size() != 2 * head.bytes || runs_.size() != 1 || runs_[0].repeat != 1)
    return Verdict::malformed;
  std::array<std::byte, 8> old{};
  if (memory != nullptr)
    compare_and_swap(memory + (base + runs_[0].offset), rest.data(), rest.data() + head.bytes,
                     old.data(), head.bytes, {memory_.control().elements, memory_.hold(1)});
  send_result(from, head, memory == nullptr ? WindowStatus::range : WindowStatus::ok,
              {old.data(), head.bytes});
  return Verdict::hold;
}

// Serves accumulate and fetch, and then their notification. Without its counter nothing is changed.
Verdict Target::serve_accumulate(Rank from, WindowHead head, std::span<const std::byte> rest,
                                 std::byte* memory, std::int64_t base) {
  const Accumulation what{static_cast<Accumulate>(head.operation),
                          static_cast<Element>(head.element)};
  if (!is_valid(what.operation, what.element) || head.bytes % size_of(what.element) != 0)
    return Verdict::malformed;
  // Also without operands: a frame may request only as much as one frame could carry. The frames of its sender may be
  // larger than ours, because it has other links.
  if (head.bytes > limits::kWindowFrame) return Verdict::malformed;
  const bool operands = what.operation != Accumulate::no_op;
  if (rest.size() != (operands ? head.bytes : 0)) return Verdict::malformed;
  const bool fetches = static_cast<WindowKind>(head.kind) == WindowKind::fetch;
  const bool notifies = (head.flags & kNotify) != 0;
  std::uint64_t counter = 0;
  if (notifies) {
    if (head.runs == 0 || (fetches && (head.flags & kWhole) == 0)) return Verdict::malformed;
    counter = std::exchange(head.offset, 0);
    if (!carrier_.notify(counter, 0)) memory = nullptr;
  }
  const WindowStatus status = memory == nullptr ? WindowStatus::range : WindowStatus::ok;
  if (!fetches) {
    if (memory != nullptr)
      combine(what, memory, base, operands ? rest.data() : nullptr, nullptr, head.bytes);
    if (notifies && memory != nullptr) carrier_.notify(counter, 1);
    return count(from, head, status);
  }
  std::array<std::byte, sizeof WindowAck::result> few{};
  const bool small = head.bytes <= few.size();
  std::vector<std::byte> many(small ? 0 : head.bytes);
  std::byte* const old = small ? few.data() : many.data();
  if (memory != nullptr)
    combine(what, memory, base, operands ? rest.data() : nullptr, old, head.bytes);
  if (notifies && memory != nullptr) carrier_.notify(counter, 1);
  if (small && head.offset == 0 && (head.flags & kWhole) != 0) {
    send_result(from, head, status, {old, head.bytes});
  } else {
    if (small) many.assign(old, old + head.bytes);
    carrier_.reply(from, head, {}, std::move(many));
  }
  return Verdict::hold;
}

// Combines operands with the memory under the runs.
void Target::combine(Accumulation what, std::byte* memory, std::int64_t base,
                     const std::byte* operands, std::byte* old, std::uint64_t bytes) {
  const std::uint64_t count = bytes / size_of(what.element);
  const ElementGuard guard{memory_.control().elements, memory_.hold(count)};
  if (runs_.size() == 1 && runs_[0].repeat == 1) {
    lfc::accumulate(what, memory + (base + runs_[0].offset), operands, old, count, guard);
    return;
  }
  Cursor to(runs_, 0, 1, base);
  lfc::accumulate(what, to, memory, operands, old, bytes, guard);
}

void Target::send_result(Rank from, const WindowHead& head, WindowStatus status,
                         std::span<const std::byte> bytes) {
  WindowAck ack{};
  ack.kind = static_cast<std::uint8_t>(AckKind::result);
  ack.status = static_cast<std::uint8_t>(status);
  ack.size = static_cast<std::uint16_t>(bytes.size());
  ack.reply = head.reply;
  std::memcpy(ack.result, bytes.data(), bytes.size());
  carrier_.acknowledge(from, ack);
}

// Sends the count of a member's fragments, and their first error status.
void Target::send_counted(Rank from, AckKind kind) {
  TargetPeer& peer = this->peer(from);
  WindowAck ack{};
  ack.kind = static_cast<std::uint8_t>(kind);
  ack.status = static_cast<std::uint8_t>(std::exchange(peer.ack_status, WindowStatus::ok));
  ack.count = peer.received;
  carrier_.acknowledge(from, ack);
}

// --- Counting ---

Verdict Target::count(Rank from, const WindowHead& head, WindowStatus status) {
  TargetPeer& peer = this->peer(from);
  ++peer.received;
  if ((head.flags & kInFence) != 0) ++fence_received_[(head.flags & kOddFence) != 0 ? 1 : 0];
  if (status != WindowStatus::ok) peer.ack_status = status;
  if ((head.flags & kUnlock) != 0) return end_lock(from, head);
  if ((head.flags & kComplete) != 0) {
    if (end_access(from, head) == Verdict::malformed) return Verdict::malformed;
  } else if (!pending_completes_.empty()) {
    check_completes(from);
  }
  // One ack for all fragments of a pass: the first that needs it keeps its buffer until then. Errors are always
  // reported.
  const bool wants_ack = (head.flags & kWantAck) != 0 || status != WindowStatus::ok;
  const bool first = wants_ack && !peer.ack_due;
  if (first) {
    peer.ack_due = true;
    acks_due_.push_back(from);
    carrier_.wake();
  }
  unlock_if_due(from);
  return first ? Verdict::hold : Verdict::release;
}

Verdict Target::end_access(Rank from, const WindowHead& head) {
  pending_completes_.push_back({from, head.count});
  if (pending_completes_.size() > 4 * peers_.size()) return Verdict::malformed;
  check_completes(from);
  return Verdict::release;
}

// unlock_if_due() sends the reply.
Verdict Target::end_lock(Rank from, const WindowHead& head) {
  TargetPeer& peer = this->peer(from);
  if (!peer.holds || peer.unlock_pending) return Verdict::malformed;
  peer.unlock_pending = true;
  peer.unlock_count = head.count;
  unlock_if_due(from);
  return Verdict::hold;
}

// Frees a member's lock when all its fragments have arrived, and notifies the member.
void Target::unlock_if_due(Rank from) {
  TargetPeer& peer = this->peer(from);
  if (!peer.unlock_pending || peer.received < peer.unlock_count) return;
  peer.unlock_pending = peer.holds = false;
  TicketLock& lock = memory_.control().lock;
  peer.holds_past ? lock.leave_past() : lock.leave(peer.holds_exclusive);
  send_counted(from, AckKind::unlocked);
  grant_locks();
}

// Ends the access epochs of a member whose fragments have all arrived.
void Target::check_completes(Rank from) {
  TargetPeer& peer = this->peer(from);
  std::erase_if(pending_completes_, [&](const PendingComplete& item) {
    if (item.rank != from || peer.received < item.count) return false;
    ++peer.completes;
    return true;
  });
}

void Target::work() {
  for (const Rank from : std::exchange(acks_due_, {})) {
    peer(from).ack_due = false;
    send_counted(from, AckKind::counted);
  }
  grant_locks();
}

// --- Locks of members that do not map them ---

Verdict Target::on_lock(Rank from, const WindowHead& head) {
  // A member has one lock of a window at a time, so more requests than members are invalid.
  const bool exclusive = (head.flags & kExclusive) != 0, past = (head.flags & kPast) != 0;
  if (tickets_.size() >= peers_.size() || (exclusive && past)) return Verdict::malformed;
  // The ticket is drawn last: one without an entry would never leave the lock.
  (void)peer(from);
  tickets_.push_back({from, 0, exclusive, past});
  if (!past) tickets_.back().ticket = memory_.control().lock.draw();
  grant_locks();
  return Verdict::release;
}

void Target::grant_locks() {
  TicketLock& lock = memory_.control().lock;
  bool granted = true;
  while (granted) {  // a reader that enters lets the next one in
    granted = false;
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      const Ticket ticket = tickets_[i];
      if (!(ticket.past ? lock.enter_past(false) : lock.enter(ticket.ticket, ticket.exclusive)))
        continue;
      tickets_.erase(tickets_.begin() + static_cast<std::ptrdiff_t>(i));
      TargetPeer& holder = *peers_[ticket.rank];
      holder.holds = true;
      holder.holds_exclusive = ticket.exclusive;
      holder.holds_past = ticket.past;
      carrier_.signal(ticket.rank, head_of(WindowKind::granted, 0));
      granted = true;
      break;
    }
  }
  // A peer that maps the lock may free it without a frame.
  if (!tickets_.empty()) carrier_.wake();
}

}  // namespace lfc::rma
