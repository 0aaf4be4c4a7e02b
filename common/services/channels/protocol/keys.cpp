#include "services/channels/protocol/keys.hpp"

#include <new>
#include <utility>

namespace lfc::channels {
namespace {

void swap_places(std::vector<Key*>& keys, std::size_t one, std::size_t other) noexcept {
  std::swap(keys[one], keys[other]);
  keys[one]->place = one;
  keys[other]->place = other;
}

double won_by(const Key& key) noexcept { return static_cast<double>(key.on_channel) * key.gain_us; }

}  // namespace

Stream* Keys::find_stream(std::uint32_t comm, std::int32_t source) const noexcept {
  if (comm >= comms_.size() || comms_[comm] == nullptr) return nullptr;
  const auto& streams = comms_[comm]->streams;
  const auto at = static_cast<std::size_t>(source);
  return at < streams.size() ? streams[at].get() : nullptr;
}

Stream& Keys::stream_of(const End& end) {
  last_ = {};
  const Name& name = end.name;
  if (name.comm >= comms_.size()) comms_.resize(name.comm + 1);
  if (comms_[name.comm] == nullptr) comms_[name.comm] = std::make_unique<KeysOfComm>();
  auto& streams = comms_[name.comm]->streams;
  const auto source = static_cast<std::size_t>(name.rank);
  if (source >= streams.size()) streams.resize(source + 1);
  if (streams[source] == nullptr) {
    streams[source] = std::make_unique<Stream>();
    streams[source]->peer = end.peer;
    streams[source]->comm = comms_[name.comm].get();
  }
  return *streams[source];
}

Key& Keys::use(const End& end) {
  if (Key* known = find(end.name)) return *known;
  Stream& stream = stream_of(end);
  Key& made = keys_.add(std::make_unique<Key>(end, stream));
  try {
    made.id = ids_.enter(made);
    made.place = stream.keys.size();
    stream.keys.push_back(&made);
    std::uint16_t& names = names_[place_of(end.name)];
    if (names != UINT16_MAX) ++names;
  } catch (const std::bad_alloc&) {
    if (made.id != 0) ids_.leave(made.id);
    keys_.erase(made);
    throw;
  }
  return made;
}

void Keys::set_busy(Key& key) noexcept {
  Stream& stream = *key.stream;
  if (key.place < stream.busy) return;
  swap_places(stream.keys, key.place, stream.busy++);
  ++stream.comm->busy;
}

void Keys::set_idle(Key& key) noexcept {
  Stream& stream = *key.stream;
  if (key.place >= stream.busy) return;
  swap_places(stream.keys, key.place, --stream.busy);
  --stream.comm->busy;
}

// Leaves the tables of numbers and of places.
void Keys::leave(const Key& key) noexcept {
  ids_.leave(key.id);
  std::uint16_t& names = names_[place_of(key.end.name)];
  if (names != UINT16_MAX) --names;
}

void Keys::erase(Key& key) noexcept {
  won_us_ += won_by(key);
  set_idle(key);
  std::vector<Key*>& keys = key.stream->keys;
  swap_places(keys, key.place, keys.size() - 1);
  keys.pop_back();
  leave(key);
  keys_.erase(key);
}

void Keys::forget(std::uint32_t comm) noexcept {
  last_ = {};
  if (comm >= comms_.size() || comms_[comm] == nullptr) return;
  for (const auto& stream : comms_[comm]->streams) {
    if (stream == nullptr) continue;
    for (Key* const key : stream->keys) {
      for (Receive* each : key->all) each->key = nullptr;
      won_us_ += won_by(*key);
      leave(*key);
      keys_.erase(*key);
    }
  }
  comms_[comm].reset();
}

double Keys::won_us() const noexcept {
  double won = won_us_;
  for (const auto& comm : comms_) {
    if (comm == nullptr) continue;
    for (const auto& stream : comm->streams) {
      if (stream == nullptr) continue;
      for (const Key* const key : stream->keys) won += won_by(*key);
    }
  }
  return won;
}

}  // namespace lfc::channels
