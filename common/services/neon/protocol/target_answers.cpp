// Target: replies to gets, strong puts and requests to confirm.

#include <algorithm>

#include "services/neon/protocol/origin.hpp"
#include "services/neon/protocol/target.hpp"

namespace lfc::neon {

void Target::answer(Rank to, const Header& request, const std::byte* from, Record* counted,
                    Announcement* buffer, Slot* slot) {
  Answer now;
  now.header = request;
  now.from = from;
  now.size = request.extra;
  now.record = counted;
  now.buffer = buffer;
  now.slot = slot;
  Fifo<Answer>& answers = peers_.at(to).answers;
  if (answers.empty() && send_answer(to, now)) return;
  answers.push(new Answer(now));
}

// False: not all of it could go.
bool Target::send_answer(Rank to, Answer& now) {
  do {
    const auto bytes = std::min<std::uint64_t>(now.size - now.moved, limits_.frame);
    Header header;
    header.kind = Kind::answer;
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
  Fifo<Answer>& answers = known->answers;
  while (Answer* first = answers.front()) {
    if (!send_answer(to, *first)) return false;
    answers.pop();
    delete first;
  }
  return true;
}

}  // namespace lfc::neon
