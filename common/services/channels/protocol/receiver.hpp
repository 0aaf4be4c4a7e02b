// Receiver: the decision for each message on a channel whether a persistent request takes it, or the matching below
// (Open MPI's ob1) gets it. The README of this folder has the proof.
//
//   Receiver receiver(matching, notes, head);
//   Key& key = receiver.key({{comm, source, tag}, peer, self});
//   Receive receive(key);                            // a persistent request
//   receiver.add(receive);
//   receiver.start(receive);                         // MPI_Start: matching.done(...) or matching.post(...)
//   Receive other(receiver.pin(key.end));            // an ordinary receive of a key that the plan names
//   receiver.start(other);                           // MPI_Irecv: likewise
//   receiver.ended(other);                           // it was posted below, and has ended there
//   receiver.before_other_receive(comm, kAny, tag);  // before any other receive is posted below
//   receiver.on_frame({comm, source, tag}, number);  // before a message that came outside channels is given below
//   receiver.on_message(id, {comm, source, tag}, bytes, size);  // a message has come on a channel
//   receiver.on_wish(from, note);                    // a sender wants to use a channel
//
// A key exists while it has persistent requests or is pinned. A sender may use its channel longer: such messages are
// given below.
// Messages of one (communicator, source) come in the order in which they were sent, on channels or not.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lfc/numbers.h"
#include "services/channels/protocol/key.hpp"
#include "services/channels/protocol/keys.hpp"
#include "services/channels/protocol/note.hpp"

namespace lfc::channels {

inline constexpr std::int32_t kAny = -1;

enum class Outcome : std::uint8_t {
  pending = LFC_CHANNEL_PENDING,
  matched = LFC_CHANNEL_MATCHED,
  cancelled = LFC_CHANNEL_CANCELLED
};

// MatchingPort: interface of the matching below, and of the requests there.
class MatchingPort {
 public:
  virtual void post(Receive& receive) = 0;  // may match at once
  virtual Outcome outcome(const Receive& receive) = 0;
  // Gives a message of this name to the matching, under this number.
  virtual void pass_to_matching(const Name& name, std::uint32_t peer, std::uint16_t number,
                                std::byte* frame, std::size_t size) = 0;
  // Whether no message of the key waits there. May make progress, and so call the Receiver.
  virtual bool empty(const Key& key) = 0;
  // The receive is complete with this message.
  virtual void done(Receive& receive, const std::byte* frame, std::size_t size) = 0;

 protected:
  ~MatchingPort() = default;
};

struct Totals {
  std::uint64_t on_channel = 0;  // messages that requests took from their channel
  std::uint64_t early = 0;       // of these, messages that came before their request was started
  std::uint64_t given = 0;       // messages of channels that went to the matching below
  std::uint64_t posted = 0;      // starts that were posted there
  std::uint64_t yielded = 0;     // starts that waited here and then went there
  std::uint64_t closed = 0;  // keys that were closed, because too few of their messages stayed here
};

class Receiver {
 public:
  // `head`: bytes of a frame in front of the message.
  Receiver(MatchingPort& matching, Notes& notes, std::size_t head)
      : matching_(matching), notes_(notes), head_(head) {}

  // Returns the key of this name. Throws std::bad_alloc.
  Key& key(const End& end) { return keys_.use(end); }
  Key* find(const Name& name) noexcept { return keys_.find(name); }
  // Adds a persistent receive, whose end below the Receiver finds out by itself.
  void add(Receive& receive);
  // Removes it. It neither waits here nor is posted below, or its owner lets it end below. The key goes with its last
  // user.
  void remove(Receive& receive);
  // Returns the key of this name, which stays without persistent receives until its communicator goes. Throws
  // std::bad_alloc.
  Key& pin(const End& end);

  // Starts a persistent receive, or an ordinary one, which was not added.
  void start(Receive& receive) {
    Key& key = *receive.key;
    if (receive.direct && receive.place == Receive::Place::idle && key.is_open() &&
        key.first_early == nullptr) [[likely]]
      key.wait_on_channel(receive);
    else
      start_otherwise(receive);
  }
  // Call it when an ordinary receive that was posted below has ended there.
  void ended(Receive& receive);
  // Posts the receive, and all that wait here with it, below. Call it before the receive is cancelled, freed, or waited
  // for elsewhere.
  void yield(Receive& receive);
  // Call it before a receive of others is posted below. Source and tag may be kAny.
  void before_other_receive(std::uint32_t comm, std::int32_t source, std::int32_t tag);
  // Call it before a probe below for messages of this source and tag, which may be kAny.
  void before_probe(std::uint32_t comm, std::int32_t source, std::int32_t tag);
  // Handles a message outside channels. Returns the number under which the matching below expects it. Tags < 0 are
  // those of the library, which no key has.
  std::uint16_t on_frame(const Name& name, std::uint16_t number) {
    Stream* const stream = keys_.stream(name.comm, name.rank);
    if (stream == nullptr) return number;
    if (!stream->early.empty() || (stream->busy != 0 && keys_.may_have(name))) [[unlikely]]
      return on_frame(*stream, name, number);
    return stream->count(number);
  }
  // Handles a message of this name on a channel, whose number was `id`; may overwrite the head in `frame`.
  void on_message(std::uint32_t id, const Name& name, std::byte* frame, std::size_t size) {
    Key* const key = keys_.of_channel(id);
    if (key != nullptr && key->first != nullptr && key->end.name == name &&
        size - head_ <= key->first->capacity) [[likely]] {
      ++totals_.on_channel;
      matching_.done(key->take_first(), frame, size);
    } else {
      on_other_message(key, name, frame, size);
    }
  }
  // Opens the channel for this peer, if the note names it as this process knows it.
  void on_wish(std::uint32_t from, const Note& note);
  // Removes a communicator that is freed, with all its keys, as soon as no other function here runs.
  void forget(std::uint32_t comm);

  const Keys& keys() const noexcept { return keys_; }
  const Totals& totals() const noexcept { return totals_; }

 private:
  class Inside;
  void release(Key& key);
  bool close_if_rare(Key& key);
  void start_otherwise(Receive& receive);
  void on_other_message(Key* key, const Name& name, std::byte* frame, std::size_t size);
  void on_message(Key& key, std::byte* frame, std::size_t size);
  std::uint16_t on_frame(Stream& stream, const Name& name, std::uint16_t number);
  void settle_all(Key& key);
  bool may_wait_on_channel(Key& key);
  bool take_early(Receive& receive);
  void pass_early_to_matching(Stream& stream);
  void pass_to_matching(Stream& stream, const Name& name, std::byte* frame, std::size_t size);
  void pass_to_matching(Key& key, std::byte* frame, std::size_t size);
  void post_to_matching(Receive& receive);
  void yield(Key& key);
  void before_other_receive(Key& key);

  MatchingPort& matching_;
  Notes& notes_;
  std::size_t head_;
  Keys keys_;
  Totals totals_;
  unsigned inside_ = 0;  // functions under way that use keys after a call to `matching_`
  std::vector<std::uint32_t> leaving_;  // communicators that were freed meanwhile
};

}  // namespace lfc::channels
