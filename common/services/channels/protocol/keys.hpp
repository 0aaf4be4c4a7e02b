// Keys: the keys of a process, by name, by number, and by communicator.
//
//   Keys keys;
//   Key& key = keys.use({{comm, source, tag}, peer, self});
//   if (Key* found = keys.find(Name{comm, source, tag})) ...
//   if (Key* found = keys.of_channel(id)) ...             // any number that a peer sends; check its name
//   if (Stream* stream = keys.stream(comm, source)) ...   // exists from the first key on
//   keys.for_each_busy(comm, source, [](Stream& stream, std::int32_t from) { ... });
//   keys.erase(key);
//   keys.forget(comm);
//
// Threads: one. Tests: tests/unit/services/channels/receiver_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/name_table.hpp"
#include "lfc/channels.h"
#include "services/channels/protocol/key.hpp"
#include "services/channels/protocol/key_table.hpp"

namespace lfc::channels {

struct KeysOfComm {
  std::vector<std::unique_ptr<Stream>> streams;  // by source
  std::size_t busy = 0;                          // keys of all
};

class Keys {
 public:
  // Returns the key of this end, which it makes if there is none. Throws std::bad_alloc.
  Key& use(const End& end);
  Key* find(const Name& name) const noexcept { return keys_.find(name); }
  // False if no key has this name.
  bool may_have(const Name& name) const noexcept { return names_[place_of(name)] != 0; }
  // How many keys have names of each place; a place that was full stays so.
  const std::uint16_t* names() const noexcept { return names_.data(); }
  Key* of_channel(std::uint32_t id) const noexcept { return ids_.find(id); }
  Stream* stream(std::uint32_t comm, std::int32_t source) noexcept {
    if (comm != last_.comm || source != last_.source)
      last_ = {comm, source, find_stream(comm, source)};
    return last_.stream;
  }
  // A key is busy if receives of others may concern it: from the first own receive that is posted below, until one of
  // others comes while none is there. The other keys are not clean, nothing waits here for them, and no own receive
  // will find out whether they are clean. So a program that has used many tags does not pay for them at each wildcard.
  static void set_busy(Key& key) noexcept;
  static void set_idle(Key& key) noexcept;
  // Calls call(stream, source) for the streams with busy keys, of this source or, if it is negative, of all. The call
  // may add keys and removes none.
  template <class Call>
  void for_each_busy(std::uint32_t comm, std::int32_t source, Call call) {
    if (comm >= comms_.size() || comms_[comm] == nullptr || comms_[comm]->busy == 0) return;
    const KeysOfComm& all = *comms_[comm];
    const auto visit = [&](std::size_t at) {
      Stream* const stream = at < all.streams.size() ? all.streams[at].get() : nullptr;
      if (stream != nullptr && stream->busy != 0) call(*stream, static_cast<std::int32_t>(at));
    };
    if (source >= 0) return visit(static_cast<std::size_t>(source));
    for (std::size_t at = 0; at < all.streams.size(); ++at) visit(at);
  }
  void erase(Key& key) noexcept;
  // Removes all keys and streams of the communicator, and takes its persistent receives from their keys.
  void forget(std::uint32_t comm) noexcept;
  const KeyTable<Key>& all() const noexcept { return keys_; }
  // Returns the time in us that the receives which did not go below saved, also those of keys that were removed.
  double won_us() const noexcept;

 private:
  // The last result of stream(), until a stream is made or removed: most messages have the source of the one before.
  struct Last {
    std::uint32_t comm = 0;
    std::int32_t source = -1;
    Stream* stream = nullptr;
  };

  Stream* find_stream(std::uint32_t comm, std::int32_t source) const noexcept;
  static std::size_t place_of(const Name& name) noexcept {
    return lfc_channel_place(name.comm, name.rank, name.tag);
  }
  void leave(const Key& key) noexcept;
  Stream& stream_of(const End& end);

  std::array<std::uint16_t, LFC_CHANNEL_PLACES> names_{};
  Last last_;
  std::vector<std::unique_ptr<KeysOfComm>> comms_;
  KeyTable<Key> keys_;
  NameTable<Key, std::uint32_t> ids_{24};
  double won_us_ = 0;  // by keys that were removed
};

}  // namespace lfc::channels
