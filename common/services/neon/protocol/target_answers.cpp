// Target: replies to gets and strong puts.

#include <algorithm>

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
  // A hostile origin has ended the generation before its get was answered: the buffer may be of a later one.
  if (now.record != nullptr && now.record->live == now.buffer &&
      now.record->announced == now.header.generation)
    count(*now.record, now.header);
  if (now.slot != nullptr) now.slot->add(1);
  return true;
}

void Target::refuse(Rank to, const Header& request, std::uint8_t why) {
  Header header;
  header.kind = Kind::answer;
  header.flags = why;
  header.id = request.id;
  outlet_.control(to, header);
}

void Target::confirm(Rank to, const Header& of, std::uint8_t flags) {
  Header header;
  header.kind = Kind::delivered;
  header.flags = flags;
  header.id = of.id;
  outlet_.control(to, header);
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
