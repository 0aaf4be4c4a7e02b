// Origin: frames of notified access to the window at large.

#include <algorithm>

#include "services/neon/protocol/origin.hpp"

namespace lfc::neon {
namespace {

// Returns the part of a notified put that its next frame carries, and describes it in the header.
Portion portion_of(const Operation& op, std::uint32_t room, Header& header) noexcept {
  Portion portion;
  header.extra = op.moved;
  if (op.runs.empty()) {
    portion.runs = 1;
    portion.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(op.size - op.moved, room));
  } else {
    portion = next_portion(op.runs, op.at, room);
    header.extra = op.runs[op.at.index].within + op.at.moved;
  }
  header.kind = portion.runs > 1 ? Kind::put_runs : Kind::put_notify;
  header.runs = static_cast<std::uint16_t>(portion.runs > 1 ? portion.runs : 0);
  return portion;
}

// Lets the carrier write a put to one place with its notification. Later operations of the stream need not wait for it:
// no order is promised among them. False: it goes in frames.
bool write_window(Carrier& carrier, Stream& to, Operation& op) {
  if (op.type != Operation::Type::put_notify || op.strong || op.refused || op.moved != 0 ||
      op.runs.size() > 1)
    return false;
  const std::uint64_t within = op.runs.empty() ? 0 : op.runs.front().within;
  if (!carrier.write_window(to.target, op.offset + within, op)) return false;
  op.writing = true;
  ++to.writing;
  return true;
}

}  // namespace

Origin::Step Origin::issue_notified(Stream& to, Operation& op) {
  if (write_window(carrier_, to, op)) return Step::done;
  Header header;
  header.tag = op.index;
  header.generation = op.generation;
  header.offset = op.offset;
  if (op.type == Operation::Type::get_notify) {
    header.kind = Kind::get_notify;
    header.extra = op.size;
    header.id = await(op);
    if (outlet_.send(to.target, header, {}, {})) return Step::done;
    stop_awaiting(op);
    return Step::room;
  }
  header.count = op.frames;
  do {
    // Checked before the frame is built: each pass of the control program retries stalled peers.
    if (!op.runs.empty() && !outlet_.has_room(to.target)) return Step::room;
    if (op.strong) {
      header.flags = kStrong;
      header.id = await(op);
    }
    const Portion portion = portion_of(op, limits_.frame, header);
    if (list_.size() < portion.list_size()) list_.resize(portion.list_size());
    if (portion.list_size() > 0) write_list(op.runs, op.at, portion, list_.data());
    if (!outlet_.send(to.target, header, {list_.data(), portion.list_size()},
                      {op.data + op.moved, portion.bytes}))
      return Step::room;
    if (op.strong) ++op.unconfirmed;
    op.moved += portion.bytes;
    op.at = portion.end;
  } while (op.moved < op.size);
  return Step::done;
}

}  // namespace lfc::neon
