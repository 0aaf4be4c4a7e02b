#include "services/channels/protocol/receiver.hpp"

#include <algorithm>

namespace lfc::channels {
namespace {

Note note_of(NoteKind kind, const Key& key) noexcept {
  return {.kind = kind,
          .comm = key.end.name.comm,
          .sender = key.end.name.rank,
          .receiver = key.end.self,
          .tag = key.end.name.tag,
          .channel = key.id};
}

}  // namespace

// Inside: while it exists, no key is removed with its communicator. A call to `matching_` may complete the last receive
// of a communicator that the program has freed.
class Receiver::Inside {
 public:
  explicit Inside(Receiver& receiver) noexcept : receiver_(receiver) { ++receiver_.inside_; }
  ~Inside() {
    if (--receiver_.inside_ != 0) return;
    while (!receiver_.leaving_.empty()) {
      const std::uint32_t comm = receiver_.leaving_.back();
      receiver_.leaving_.pop_back();
      receiver_.keys_.forget(comm);
    }
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Receiver& receiver_;
};

void Receiver::add(Receive& receive) { receive.key->all.push_back(&receive); }

void Receiver::remove(Receive& receive) {
  Key* key = receive.key;
  if (key == nullptr) return;  // its communicator went first
  const Inside inside(*this);
  ended(receive);
  std::erase(key->all, &receive);
  if (receive.place == Receive::Place::posted) {  // its end will not be reported
    --key->posted;
    before_other_receive(*key);
  }
  release(*key);
}

Key& Receiver::pin(const End& end) {
  Key& used = key(end);
  used.pinned = true;
  return used;
}

// A key that is made again later is not clean, and counts anew.
void Receiver::release(Key& key) {
  if (!key.all.empty() || key.pinned) return;
  if (key.first_early != nullptr) pass_early_to_matching(*key.stream);
  keys_.erase(key);
}

// Notes whether a receive posted below has ended there. If it got a message although receives of others were posted
// before it, none of those is left.
void Receiver::ended(Receive& receive) {
  if (receive.place != Receive::Place::posted) return;
  const Outcome outcome = matching_.outcome(receive);
  if (outcome == Outcome::pending) return;
  Key& key = *receive.key;
  receive.place = Receive::Place::idle;
  --key.posted;
  if (outcome == Outcome::cancelled || key.closed) return;
  --key.waiting;
  if (receive.others == key.others) key.clean = true;
}

void Receiver::settle_all(Key& key) {
  if (key.posted == 0) return;
  for (Receive* each : key.all) ended(*each);
}

bool Receiver::may_wait_on_channel(Key& key) {
  if (!key.on) return false;
  settle_all(key);
  if (!key.clean || key.posted != 0) return false;
  if (!key.counted) {
    key.waiting = 0;
    key.counted = true;
    if (!matching_.empty(key)) key.counted = false;
  }
  return key.counted && key.waiting == 0 && key.clean && key.posted == 0;
}

void Receiver::start_otherwise(Receive& receive) {
  const Inside inside(*this);
  if (receive.place == Receive::Place::posted) ended(receive);
  Key& key = *receive.key;
  if (receive.direct && (key.is_open() || may_wait_on_channel(key))) {
    if (key.first_early == nullptr) return key.wait_on_channel(receive);
    if (take_early(receive)) return;
  }
  yield(key);
  key.chances += key.posted == 0 ? 1 : 0;  // in a burst, the channel cannot open before the end
  post_to_matching(receive);
  ++key.native_starts;
  if (key.closed || close_if_rare(key)) return;
  if (key.on || !receive.direct || key.native_starts < key.next_offer) {
    // Messages taken by a matched probe are still counted as waiting.
    if (key.native_starts % 64 == 0) key.counted = false;
    return;
  }
  settle_all(key);
  if (!key.clean || !key.stream->known || !key.stream->ordered) return;
  key.next_offer = key.native_starts * 2;
  notes_.send(key.end.peer, note_of(NoteKind::offer, key));
}

// A channel costs time for each message that ob1 has to match in the end.
bool Receiver::close_if_rare(Key& key) {
  if (key.closed || !key.is_rare()) return false;
  key.closed = true;
  key.on = key.clean = key.counted = false;
  Keys::set_idle(key);
  ++totals_.closed;
  notes_.send(key.end.peer, note_of(NoteKind::close, key));
  return true;
}

void Receiver::on_wish(std::uint32_t from, const Note& note) {
  const End wanted{{note.comm, note.sender, note.tag}, from, note.receiver};
  const Key* const key = find(wanted.name);
  if (key == nullptr || key->end != wanted || key->closed) return;
  Note reply = note;
  reply.kind = NoteKind::open;
  reply.channel = key->id;
  notes_.send(from, reply);
}

void Receiver::post_to_matching(Receive& receive) {
  Key& key = *receive.key;
  receive.place = Receive::Place::posted;
  receive.others = key.others;
  ++key.posted;
  if (!key.closed) Keys::set_busy(key);
  ++totals_.posted;
  matching_.post(receive);
}

// --- Messages that come before their receive ---

// Gives the receive the oldest early message of its key. False: the message is too long.
bool Receiver::take_early(Receive& receive) {
  Key& key = *receive.key;
  EarlyMessages<Key>::Item& found = *key.first_early;
  if (found.size - head_ > receive.capacity) return false;
  key.stream->early.drop(found);
  ++key.on_channel;
  ++totals_.on_channel;
  ++totals_.early;
  matching_.done(receive, found.frame, found.size);
  return true;
}

// Gives all early messages of the sender, because a receive below may be of any tag.
void Receiver::pass_early_to_matching(Stream& stream) {
  while (EarlyMessages<Key>::Item* const oldest = stream.early.oldest()) {
    stream.early.drop(*oldest);
    pass_to_matching(*oldest->key, oldest->frame, oldest->size);
  }
}

void Receiver::pass_to_matching(Stream& stream, const Name& name, std::byte* frame,
                                std::size_t size) {
  ++stream.given;
  ++totals_.given;
  matching_.pass_to_matching(name, stream.peer,
                             static_cast<std::uint16_t>(stream.last + stream.given), frame, size);
}

void Receiver::pass_to_matching(Key& key, std::byte* frame, std::size_t size) {
  ++key.waiting;
  ++key.given;
  pass_to_matching(*key.stream, key.end.name, frame, size);
}

void Receiver::before_probe(std::uint32_t comm, std::int32_t source, std::int32_t tag) {
  if (tag < kAny) return;
  const Inside inside(*this);
  keys_.for_each_busy(comm, source, [&](Stream& stream, std::int32_t from) {
    if (stream.early.empty()) return;
    const Key* const key = tag < 0 ? nullptr : find(Name{comm, from, tag});
    if (tag < 0 || (key != nullptr && key->first_early != nullptr)) pass_early_to_matching(stream);
  });
}

void Receiver::yield(Key& key) {
  if (key.first_early != nullptr) pass_early_to_matching(*key.stream);
  while (key.first != nullptr) {
    ++totals_.yielded;
    --key.on_channel;
    post_to_matching(key.take_first());
  }
}

void Receiver::yield(Receive& receive) {
  if (receive.place != Receive::Place::on_channel) return;
  const Inside inside(*this);
  yield(*receive.key);
}

void Receiver::before_other_receive(Key& key) {
  if (key.closed) return;
  yield(key);
  ++key.others;
  key.clean = false;
  key.counted = false;
  if (key.posted == 0) Keys::set_idle(key);
}

void Receiver::before_other_receive(std::uint32_t comm, std::int32_t source, std::int32_t tag) {
  if (tag < kAny) return;
  const Inside inside(*this);
  keys_.for_each_busy(comm, source, [&](Stream& stream, std::int32_t from) {
    if (tag >= 0) {
      if (Key* key = find(Name{comm, from, tag})) before_other_receive(*key);
      return;
    }
    // Each call may make its key idle, and may call the Receiver, which adds keys behind those that are busy.
    for (std::size_t at = stream.busy; at-- > 0;)
      if (at < stream.busy) before_other_receive(*stream.keys[at]);
  });
}

std::uint16_t Receiver::on_frame(Stream& stream, const Name& name, std::uint16_t number) {
  const Inside inside(*this);
  if (name.tag >= 0 && !stream.early.empty()) pass_early_to_matching(stream);
  (void)stream.count(number);
  if (name.tag >= 0 && stream.busy != 0)
    if (Key* key = find(name); key != nullptr && !key->closed) {
      if (key->first != nullptr) key->on = false;  // its sender does not use the channel for these
      yield(*key);
      ++key->waiting;
    }
  return static_cast<std::uint16_t>(number + stream.given);
}

void Receiver::on_other_message(Key* key, const Name& name, std::byte* frame, std::size_t size) {
  if (key == nullptr || key->end.name != name) key = find(name);
  if (key != nullptr) return on_message(*key, frame, size);
  const Inside inside(*this);
  Stream* const stream = keys_.stream(name.comm, name.rank);
  if (stream == nullptr) return;  // the communicator was freed
  if (!stream->early.empty()) pass_early_to_matching(*stream);
  pass_to_matching(*stream, name, frame, size);
}

void Receiver::on_message(Key& key, std::byte* frame, std::size_t size) {
  if (key.first != nullptr && size - head_ <= key.first->capacity) {
    key.on = true;
    ++totals_.on_channel;
    matching_.done(key.take_first(), frame, size);
    return;
  }
  const Inside inside(*this);
  key.on = !key.closed;
  if (key.first != nullptr) {
    yield(key);  // the matching below reports the message that is too long
  }
  // Kept only if a receive that is started now would wait here.
  if (key.is_open() && key.stream->early.keep(key, frame, size)) return;
  if (!key.stream->early.empty()) pass_early_to_matching(*key.stream);
  pass_to_matching(key, frame, size);
  (void)close_if_rare(key);
}

void Receiver::forget(std::uint32_t comm) {
  if (inside_ == 0)
    keys_.forget(comm);
  else
    leaving_.push_back(comm);
}

}  // namespace lfc::channels
