#include "services/channels/receiver.hpp"

namespace lfc::channels {

Key& Receiver::key(const Name& name) {
  if (Key* known = find(name)) return *known;
  std::unique_ptr<Stream>& stream = streams_[{name.comm, name.source, 0}];
  if (stream == nullptr) stream = std::make_unique<Stream>();
  auto made = std::make_unique<Key>(name, *stream);
  made->id = next_id_++;
  Key& key = *made;
  ids_[key.id] = &key;
  comms_[name.comm].push_back(&key);
  keys_[name] = std::move(made);
  return key;
}

Key* Receiver::find(const Name& name) noexcept {
  const auto at = keys_.find(name);
  return at == keys_.end() ? nullptr : at->second.get();
}

Key* Receiver::find(std::uint32_t id) noexcept {
  const auto at = ids_.find(id);
  return at == ids_.end() ? nullptr : at->second;
}

void Receiver::add(Receive& receive) { receive.key->all.push_back(&receive); }

void Receiver::remove(Receive& receive) {
  Key* key = receive.key;
  if (key == nullptr) return;  // its communicator went first
  settle(receive);
  key->all.remove(&receive);
  if (receive.place == Receive::Place::below) {  // nobody will tell us when it has ended
    --key->below;
    foreign(*key);
  }
}

// A receive posted below may have ended there. One that got a message although others' receives came before it has shown
// that none of those is left.
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
  settle(receive);
  Key& key = *receive.key;
  if (receive.direct && (!key.posted.empty() || may_wait_here(key))) {
    receive.place = Receive::Place::here;
    key.posted.push_back(&receive);
    return;
  }
  yield(key);
  post_below(receive);
  ++key.native_starts;
  if (key.on || !receive.direct || key.native_starts < key.next_offer) {
    // Messages that somebody took by a matched probe are still counted as waiting.
    if (key.native_starts % 64 == 0) key.counted = false;
    return;
  }
  settle_all(key);
  if (!key.clean || !key.stream->known || !key.stream->ordered) return;
  key.next_offer = key.native_starts * 2;
  below_.offer(key);
}

void Receiver::post_below(Receive& receive) {
  Key& key = *receive.key;
  receive.place = Receive::Place::below;
  receive.others = key.others;
  ++key.below;
  ++totals_.posted;
  below_.post(receive);
}

void Receiver::yield(Key& key) {
  while (!key.posted.empty()) {
    Receive& first = *key.posted.front();
    key.posted.pop_front();
    ++totals_.yielded;
    post_below(first);
  }
}

void Receiver::yield(Receive& receive) {
  if (receive.place == Receive::Place::here) yield(*receive.key);
}

void Receiver::yield_all() {
  for (auto& [name, key] : keys_) {
    yield(*key);
    key->counted = false;
  }
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
  const auto at = comms_.find(comm);
  if (at == comms_.end()) return;
  for (Key* key : at->second)
    if ((source < 0 || key->name.source == source) && (tag < 0 || key->name.tag == tag))
      foreign(*key);
}

std::uint16_t Receiver::on_frame(const Name& name, std::uint16_t number) {
  const auto at = streams_.find({name.comm, name.source, 0});
  if (at == streams_.end()) return number;
  Stream& stream = *at->second;
  if (stream.known && number != static_cast<std::uint16_t>(stream.last + 1)) stream.ordered = false;
  stream.last = number;
  stream.known = true;
  if (name.tag >= 0)
    if (Key* key = find(name)) {
      if (!key->posted.empty()) key->on = false;  // its sender does not use the channel for these
      yield(*key);
      ++key->waiting;
    }
  return static_cast<std::uint16_t>(number + stream.given);
}

void Receiver::on_message(Key& key, std::byte* frame, std::size_t size) {
  key.on = true;
  if (!key.posted.empty()) {
    Receive& first = *key.posted.front();
    if (size - head_ <= first.capacity) {
      key.posted.pop_front();
      first.place = Receive::Place::idle;
      ++totals_.here;
      below_.done(first, frame, size);
      return;
    }
    yield(key);  // the matching below knows what to say of it
  }
  Stream& stream = *key.stream;
  ++stream.given;
  ++key.waiting;
  ++totals_.given;
  below_.give(key, static_cast<std::uint16_t>(stream.last + stream.given), frame, size);
}

void Receiver::forget(std::uint32_t comm) {
  const auto at = comms_.find(comm);
  if (at == comms_.end()) return;
  for (Key* key : at->second) {
    for (Receive* each : key->all) each->key = nullptr;
    ids_.erase(key->id);
    streams_.erase({comm, key->name.source, 0});
    keys_.erase(Name(key->name));
  }
  comms_.erase(at);
}

}  // namespace lfc::channels
