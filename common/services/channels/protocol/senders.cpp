#include "services/channels/protocol/senders.hpp"

#include <memory>

namespace lfc::channels {

Sender& Senders::use(const End& end) {
  Sender* sender = senders_.find(end.name);
  if (sender == nullptr) sender = &senders_.add(std::make_unique<Sender>(end));
  ++sender->users;
  return *sender;
}

void Senders::leave(Sender& sender) noexcept {
  if (--sender.users == 0) senders_.erase(sender);
}

void Senders::on_note(std::uint32_t from, const Note& note) {
  const Name name{note.comm, note.receiver, note.tag};
  Sender* const sender = senders_.find(name);
  if (sender == nullptr || sender->end != End{name, from, note.sender}) return;
  if (note.kind == NoteKind::close) {
    sender->channel = 0;
    sender->refused = true;
  } else if (sender->channel != 0) {  // the receiver may have made its key again
    if (note.kind == NoteKind::offer) sender->channel = note.channel;
  } else if (note.kind == NoteKind::offer) {
    sender->refused = false;
    Note reply = note;
    reply.kind = NoteKind::wish;
    reply.wish = sender->wish = ++wishes_;
    notes_.send(from, reply);
  } else if (note.kind == NoteKind::open && note.wish == sender->wish) {
    sender->channel = note.channel;
    ++opened_;
  }
}

}  // namespace lfc::channels
