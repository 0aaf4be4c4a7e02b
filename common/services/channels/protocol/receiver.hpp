// Receiver: the decision for each message on a channel whether a persistent request takes it, or the matching below
// (Open MPI's ob1) gets it. The README of this folder has the proof.
//
//   Receiver receiver(below, notes, head);
//   Key& key = receiver.key({{comm, source, tag}, peer, self});
//   Receive receive(key);                            // a persistent request
//   receiver.start(receive);                         // MPI_Start: below.done(receive, ...) or below.post(receive)
//   receiver.foreign(comm, kAny, tag);               // before any other receive is posted below
//   receiver.on_frame({comm, source, tag}, number);  // before a message that came outside channels is given below
//   receiver.on_message(id, {comm, source, tag}, bytes, size);  // a message has come on a channel
//   receiver.on_wish(from, note);                    // a sender wants to use a channel
//
// A key exists while it has requests. A sender may use its channel longer: such messages are given below.
// Messages of one (communicator, source) come in the order in which they were sent, on channels or not.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/name_table.hpp"
#include "lfc/numbers.h"
#include "services/channels/protocol/key_table.hpp"
#include "services/channels/protocol/note.hpp"

namespace lfc::channels {

inline constexpr std::int32_t kAny = -1;

struct Key;
struct Receive;

// Stream: the messages of one process on one communicator. The matching below numbers them with 16 bits; messages from
// channels that are given below get numbers in between.
struct Stream {
  std::uint16_t last = 0;   // number of the last message outside channels, as its sender gave it
  std::uint16_t given = 0;  // how many came from channels and were given below
  bool known = false;       // `last` is
  bool ordered = true;      // no number was left out
  std::vector<Key*> keys;   // in no order

  // Messages of channels that no request waited for, in the order in which they came.
  static constexpr std::size_t kMostEarly = 32, kRoom = 32 * 1024;
  struct Early {
    Key* key;
    std::byte* frame;
    std::size_t size;
  };
  std::vector<Early> early;
  std::unique_ptr<std::byte[]> room = std::make_unique_for_overwrite<std::byte[]>(kRoom);
  std::size_t used = 0;  // of the room
};

struct Key {
  Key(const End& of, Stream& from) : end(of), stream(&from) {}

  End end;
  Stream* stream;
  std::uint32_t id = 0;       // of its channel
  std::size_t place = 0;      // in the stream's keys
  bool on = false;            // messages come on the channel
  bool clean = false;         // no receive posted below by others can match
  bool counted = false;       // `waiting` is exact
  std::uint64_t others = 0;   // receives that others posted below and that can match
  std::int64_t waiting = 0;   // messages given below less those that own receives got
  std::uint32_t below = 0;    // own receives posted below
  std::uint32_t early = 0;    // messages that are kept here
  std::vector<Receive*> all;  // own receives
  Receive *first = nullptr, *last = nullptr;  // those that wait here, in order
  std::uint64_t native_starts = 0, next_offer = 1;

  // Whether receives may wait here, as far as known without a probe.
  bool is_open() const noexcept {
    return first != nullptr || (on && clean && counted && below == 0 && waiting == 0);
  }
};

// Receive: a persistent receive of exactly this source and tag.
struct Receive {
  explicit Receive(Key& of) : key(&of) {}

  enum class Place : std::uint8_t { idle, here, below };

  Key* key;
  Place place = Place::idle;
  bool direct = false;  // contiguous, and short enough
  std::size_t capacity = 0;
  std::uint64_t others = 0;  // of the key, when the receive was posted below
  void* owner = nullptr;
  Receive* next = nullptr;  // the next one that waits here
};

enum class Outcome : std::uint8_t {
  pending = LFC_CHANNEL_PENDING,
  matched = LFC_CHANNEL_MATCHED,
  cancelled = LFC_CHANNEL_CANCELLED
};

// Below: interface of the matching below, and of the requests there.
class Below {
 public:
  virtual void post(Receive& receive) = 0;  // may match at once
  virtual Outcome outcome(const Receive& receive) = 0;
  // Gives a message of this name to the matching, under this number.
  virtual void give(const Name& name, std::uint16_t number, std::byte* frame, std::size_t size) = 0;
  // Whether no message of the key waits there. May make progress, and so call the Receiver.
  virtual bool empty(const Key& key) = 0;
  // The receive is complete with this message.
  virtual void done(Receive& receive, const std::byte* frame, std::size_t size) = 0;

 protected:
  ~Below() = default;
};

struct Totals {
  std::uint64_t here = 0;     // messages that requests took from their channel
  std::uint64_t early = 0;    // of these, messages that came before their request was started
  std::uint64_t given = 0;    // messages of channels that went to the matching below
  std::uint64_t posted = 0;   // starts that were posted there
  std::uint64_t yielded = 0;  // starts that waited here and then went there
};

class Receiver {
 public:
  // `head`: bytes of a frame in front of the message.
  Receiver(Below& below, Notes& notes, std::size_t head)
      : below_(below), notes_(notes), head_(head) {}

  Key& key(const End& end);
  Key* find(const Name& name) noexcept { return keys_.find(name); }
  void add(Receive& receive);
  // Removes a receive that neither waits here nor is posted below, or that its owner lets end below. The key goes with
  // its last receive.
  void remove(Receive& receive);

  void start(Receive& receive);
  // Posts the receive, and all that wait here with it, below. Call it before the receive is cancelled, freed, or waited
  // for elsewhere.
  void yield(Receive& receive);
  // Call it before a receive of others is posted below. Source and tag may be kAny.
  void foreign(std::uint32_t comm, std::int32_t source, std::int32_t tag);
  // Call it before a probe below for messages of this source and tag, which may be kAny.
  void reveal(std::uint32_t comm, std::int32_t source, std::int32_t tag);
  // Handles a message outside channels. Returns the number under which the matching below expects it. Tags < 0 are
  // those of the library, which no key has.
  std::uint16_t on_frame(const Name& name, std::uint16_t number);
  // Handles a message of this name on a channel, whose number was `id`; may overwrite the head in `frame`.
  void on_message(std::uint32_t id, const Name& name, std::byte* frame, std::size_t size);
  // Opens the channel for this peer, if the note names it as this process knows it.
  void on_wish(std::uint32_t from, const Note& note);
  // Removes a communicator that is freed, with all its keys.
  void forget(std::uint32_t comm);

  const KeyTable<Key>& keys() const noexcept { return keys_; }
  const Totals& totals() const noexcept { return totals_; }

 private:
  using Comm = std::vector<std::unique_ptr<Stream>>;  // by source

  Stream* stream_of(std::uint32_t comm, std::int32_t source) noexcept {
    if (comm >= comms_.size() || comms_[comm] == nullptr) return nullptr;
    Comm& streams = *comms_[comm];
    const auto at = static_cast<std::size_t>(source);
    return at < streams.size() ? streams[at].get() : nullptr;
  }
  void erase(Key& key);
  void on_message(Key& key, std::byte* frame, std::size_t size);
  template <class Do>
  void for_each(std::uint32_t comm, Do&& what);
  void offer(const Key& key);
  void wait_here(Receive& receive) noexcept;
  static Receive& take_first(Key& key) noexcept;
  void settle(Receive& receive);
  void settle_all(Key& key);
  bool may_wait_here(Key& key);
  bool keep(Key& key, const std::byte* frame, std::size_t size) noexcept;
  bool take_early(Receive& receive);
  void give_early(Stream& stream);
  void give(Stream& stream, const Name& name, std::byte* frame, std::size_t size);
  void give(Key& key, std::byte* frame, std::size_t size);
  void post_below(Receive& receive);
  void yield(Key& key);
  void foreign(Key& key);

  Below& below_;
  Notes& notes_;
  std::size_t head_;
  std::vector<std::unique_ptr<Comm>> comms_;
  KeyTable<Key> keys_;
  NameTable<Key, std::uint32_t> ids_{24};
  Totals totals_;
};

}  // namespace lfc::channels
