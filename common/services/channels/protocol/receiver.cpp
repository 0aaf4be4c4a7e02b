#include "services/channels/protocol/receiver.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace lfc::channels {

Key& Receiver::key(const End& end) {
  const Name& name = end.name;
  if (Key* known = find(name)) return *known;
  if (name.comm >= comms_.size()) comms_.resize(name.comm + 1);
  if (comms_[name.comm] == nullptr) comms_[name.comm] = std::make_unique<Comm>();
  Comm& streams = *comms_[name.comm];
  const auto source = static_cast<std::size_t>(name.rank);
  if (source >= streams.size()) streams.resize(source + 1);
  if (streams[source] == nullptr) {
    streams[source] = std::make_unique<Stream>();
    streams[source]->early.reserve(Stream::kMostEarly);
  }
  Stream& stream = *streams[source];
  Key& made = keys_.add(std::make_unique<Key>(end, stream));
  try {
    made.id = ids_.enter(made);
    made.place = stream.keys.size();
    stream.keys.push_back(&made);
  } catch (const std::bad_alloc&) {
    if (made.id != 0) ids_.leave(made.id);
    keys_.erase(made);
    throw;
  }
  return made;
}

template <class Do>
void Receiver::for_each(std::uint32_t comm, Do&& what) {
  if (comm >= comms_.size() || comms_[comm] == nullptr) return;
  for (const auto& stream : *comms_[comm])
    if (stream != nullptr)
      for (Key* key : stream->keys) what(*key);
}

void Receiver::add(Receive& receive) { receive.key->all.push_back(&receive); }

void Receiver::remove(Receive& receive) {
  Key* key = receive.key;
  if (key == nullptr) return;  // its communicator went first
  settle(receive);
  std::erase(key->all, &receive);
  if (receive.place == Receive::Place::below) {  // its end will not be reported
    --key->below;
    foreign(*key);
  }
  if (key->all.empty()) erase(*key);
}

// A key that is made again later is not clean, and counts anew.
void Receiver::erase(Key& key) {
  if (key.early != 0) give_early(*key.stream);
  std::vector<Key*>& keys = key.stream->keys;
  keys[key.place] = keys.back();
  keys[key.place]->place = key.place;
  keys.pop_back();
  ids_.leave(key.id);
  keys_.erase(key);
}

void Receiver::wait_here(Receive& receive) noexcept {
  Key& key = *receive.key;
  receive.place = Receive::Place::here;
  receive.next = nullptr;
  (key.first == nullptr ? key.first : key.last->next) = &receive;
  key.last = &receive;
}

Receive& Receiver::take_first(Key& key) noexcept {
  Receive& first = *key.first;
  key.first = first.next;
  first.place = Receive::Place::idle;
  return first;
}

// Notes whether a receive posted below has ended there. If it got a message although receives of others were posted
// before it, none of those is left.
void Receiver::settle(Receive& receive) {
  if (receive.place != Receive::Place::below) return;
  const Outcome outcome = below_.outcome(receive);
  if (outcome == Outcome::pending) return;
  Key& key = *receive.key;
  receive.place = Receive::Place::idle;
  --key.below;
  if (outcome == Outcome::cancelled) return;
  --key.waiting;
  if (receive.others == key.others) key.clean = true;
}

void Receiver::settle_all(Key& key) {
  if (key.below == 0) return;
  for (Receive* each : key.all) settle(*each);
}

bool Receiver::may_wait_here(Key& key) {
  if (!key.on) return false;
  settle_all(key);
  if (!key.clean || key.below != 0) return false;
  if (!key.counted) {
    key.waiting = 0;
    key.counted = true;
    if (!below_.empty(key)) key.counted = false;
  }
  return key.counted && key.waiting == 0 && key.clean && key.below == 0;
}

void Receiver::start(Receive& receive) {
  if (receive.place == Receive::Place::below) settle(receive);
  Key& key = *receive.key;
  if (receive.direct && (key.is_open() || may_wait_here(key))) {
    if (key.early == 0) return wait_here(receive);
    if (take_early(receive)) return;
  }
  yield(key);
  post_below(receive);
  ++key.native_starts;
  if (key.on || !receive.direct || key.native_starts < key.next_offer) {
    // Messages taken by a matched probe are still counted as waiting.
    if (key.native_starts % 64 == 0) key.counted = false;
    return;
  }
  settle_all(key);
  if (!key.clean || !key.stream->known || !key.stream->ordered) return;
  key.next_offer = key.native_starts * 2;
  offer(key);
}

void Receiver::offer(const Key& key) {
  notes_.send(key.end.peer, {.kind = NoteKind::offer,
                             .comm = key.end.name.comm,
                             .sender = key.end.name.rank,
                             .receiver = key.end.self,
                             .tag = key.end.name.tag,
                             .channel = key.id});
}

void Receiver::on_wish(std::uint32_t from, const Note& note) {
  const End asked{{note.comm, note.sender, note.tag}, from, note.receiver};
  const Key* const key = find(asked.name);
  if (key == nullptr || key->end != asked) return;
  Note reply = note;
  reply.kind = NoteKind::open;
  reply.channel = key->id;
  notes_.send(from, reply);
}

void Receiver::post_below(Receive& receive) {
  Key& key = *receive.key;
  receive.place = Receive::Place::below;
  receive.others = key.others;
  ++key.below;
  ++totals_.posted;
  below_.post(receive);
}

// --- Messages that come before their receive ---

// Keeps the message only if a receive that is started now would wait here.
bool Receiver::keep(Key& key, const std::byte* frame, std::size_t size) noexcept {
  Stream& stream = *key.stream;
  if (!key.is_open() || stream.early.size() == Stream::kMostEarly ||
      size > Stream::kRoom - stream.used)
    return false;
  std::byte* const to = stream.room.get() + stream.used;
  std::memcpy(to, frame, size);
  stream.used += size;
  stream.early.push_back({&key, to, size});
  ++key.early;
  return true;
}

// Gives the receive the oldest early message of its key. False: the message is too long.
bool Receiver::take_early(Receive& receive) {
  Key& key = *receive.key;
  Stream& stream = *key.stream;
  const auto at = std::ranges::find(stream.early, &key, &Stream::Early::key);
  const Stream::Early found = *at;
  if (found.size - head_ > receive.capacity) return false;
  stream.early.erase(at);
  if (stream.early.empty()) stream.used = 0;
  --key.early;
  ++totals_.here;
  ++totals_.early;
  below_.done(receive, found.frame, found.size);
  return true;
}

// Gives all early messages of the sender, because a receive below may be of any tag.
void Receiver::give_early(Stream& stream) {
  for (const Stream::Early& each : stream.early) {
    --each.key->early;
    give(*each.key, each.frame, each.size);
  }
  stream.early.clear();
  stream.used = 0;
}

void Receiver::give(Stream& stream, const Name& name, std::byte* frame, std::size_t size) {
  ++stream.given;
  ++totals_.given;
  below_.give(name, static_cast<std::uint16_t>(stream.last + stream.given), frame, size);
}

void Receiver::give(Key& key, std::byte* frame, std::size_t size) {
  ++key.waiting;
  give(*key.stream, key.end.name, frame, size);
}

void Receiver::reveal(std::uint32_t comm, std::int32_t source, std::int32_t tag) {
  if (tag < kAny) return;
  for_each(comm, [&](Key& key) {
    if (key.early != 0 && (source < 0 || key.end.name.rank == source) &&
        (tag < 0 || key.end.name.tag == tag))
      give_early(*key.stream);
  });
}

void Receiver::yield(Key& key) {
  if (key.early != 0) give_early(*key.stream);
  while (key.first != nullptr) {
    ++totals_.yielded;
    post_below(take_first(key));
  }
}

void Receiver::yield(Receive& receive) {
  if (receive.place == Receive::Place::here) yield(*receive.key);
}

void Receiver::foreign(Key& key) {
  yield(key);
  ++key.others;
  key.clean = false;
  key.counted = false;
}

void Receiver::foreign(std::uint32_t comm, std::int32_t source, std::int32_t tag) {
  if (tag < kAny) return;
  if (source >= 0 && tag >= 0) {
    if (Key* key = find(Name{comm, source, tag})) foreign(*key);
    return;
  }
  for_each(comm, [&](Key& key) {
    if ((source < 0 || key.end.name.rank == source) && (tag < 0 || key.end.name.tag == tag))
      foreign(key);
  });
}

std::uint16_t Receiver::on_frame(const Name& name, std::uint16_t number) {
  Stream* const from = stream_of(name.comm, name.rank);
  if (from == nullptr) return number;
  Stream& stream = *from;
  if (name.tag >= 0 && !stream.early.empty()) give_early(stream);
  if (stream.known && number != static_cast<std::uint16_t>(stream.last + 1)) stream.ordered = false;
  stream.last = number;
  stream.known = true;
  if (name.tag >= 0)
    if (Key* key = find(name)) {
      if (key->first != nullptr) key->on = false;  // its sender does not use the channel for these
      yield(*key);
      ++key->waiting;
    }
  return static_cast<std::uint16_t>(number + stream.given);
}

void Receiver::on_message(std::uint32_t id, const Name& name, std::byte* frame, std::size_t size) {
  Key* key = ids_.find(id);
  if (key == nullptr || key->end.name != name) key = find(name);
  if (key != nullptr) return on_message(*key, frame, size);
  Stream* const stream = stream_of(name.comm, name.rank);
  if (stream == nullptr) return;  // the communicator was freed
  if (!stream->early.empty()) give_early(*stream);
  give(*stream, name, frame, size);
}

void Receiver::on_message(Key& key, std::byte* frame, std::size_t size) {
  key.on = true;
  if (key.first != nullptr) {
    if (size - head_ <= key.first->capacity) {
      ++totals_.here;
      below_.done(take_first(key), frame, size);
      return;
    }
    yield(key);  // the matching below reports the message that is too long
  }
  if (keep(key, frame, size)) return;
  if (!key.stream->early.empty()) give_early(*key.stream);
  give(key, frame, size);
}

void Receiver::forget(std::uint32_t comm) {
  for_each(comm, [this](Key& key) {
    for (Receive* each : key.all) each->key = nullptr;
    ids_.leave(key.id);
    keys_.erase(key);
  });
  if (comm < comms_.size()) comms_[comm].reset();
}

}  // namespace lfc::channels
