// Target: replies to gets, strong puts and requests to confirm.

#include <algorithm>

#include "services/neon/protocol/origin.hpp"
#include "services/neon/protocol/target.hpp"

namespace lfc::neon {

void Target::reply_to_get(Rank to, const Header& request, const std::byte* from, Record* counted,
                          Announcement* buffer, Slot* slot) {
  GetReply now;
  now.header = request;
  now.from = from;
  now.size = request.extra;
  now.record = counted;
  now.buffer = buffer;
  now.slot = slot;
  Fifo<GetReply>& get_replies = peers_.at(to).get_replies;
  if (get_replies.empty() && send_get_reply(to, now)) return;
  get_replies.push(new GetReply(now));
}

// False: not all of it could go.
bool Target::send_get_reply(Rank to, GetReply& now) {
  do {
    const auto bytes = std::min<std::uint64_t>(now.size - now.moved, limits_.frame);
    Header header;
    header.kind = Kind::reply;
    header.id = now.header.id;
    header.offset = now.moved;
    if (!outlet_.send(to, header, {}, {now.from + now.moved, bytes})) return false;
    now.moved += bytes;
  } while (now.moved < now.size);
  // If a hostile origin has ended the generation before its get was served, the record may be in a later one.
  if (now.record != nullptr && now.record->live == now.buffer &&
      now.record->announced == now.header.generation)
    count(*now.record, now.header);
  if (now.slot != nullptr) now.slot->add(1);
  return true;
}

void Target::reply(Rank to, Kind kind, std::uint64_t id, std::uint8_t flags) {
  Header header;
  header.kind = kind;
  header.flags = flags;
  header.id = id;
  outlet_.control(to, header);
}

bool Target::on_confirm(Rank from, const Header& header) {
  Record* const each = record(from, header.tag);
  if (each == nullptr) return false;
  if (take_final(*each)) fire(*each);
  Confirmations& confirmations = peers_.at(from).confirmations;
  const bool live = each->live != nullptr && each->announced == header.generation;
  const bool all = (header.flags & kFinal) != 0;
  if (!reached(each->announced, header.generation) ||
      (live && (all || each->arrivals.whole() < header.count)))
    return confirmations.add(header);
  reply(from, Kind::confirmed, header.id, confirmations.failure(header.tag, header.generation));
  return true;
}

// Confirms the announced generation, of which the first `arrived` frames are in place or never will be.
void Target::confirm_waiting(const Record& each, std::uint32_t arrived) {
  Confirmations& waiting = peers_.at(each.origin).confirmations;
  if (waiting.empty()) return;
  const std::uint8_t flags = waiting.failure(each.tag, each.announced);
  waiting.take(each.tag, each.announced, arrived,
               [&](std::uint64_t id) { reply(each.origin, Kind::confirmed, id, flags); });
}

bool Target::pump(Rank to) {
  Peer* const known = peers_.find(to);
  if (known == nullptr) return true;
  Fifo<GetReply>& get_replies = known->get_replies;
  while (GetReply* first = get_replies.front()) {
    if (!send_get_reply(to, *first)) return false;
    get_replies.pop();
    delete first;
  }
  return true;
}

}  // namespace lfc::neon
