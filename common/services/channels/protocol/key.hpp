// Key: the messages of one communicator, source and tag, as their receiver knows them. Receive: a receive of a key.
// Stream: all messages of one source on one communicator, to which its keys belong.
//
//   if (receive.direct && key.is_open()) key.wait_on_channel(receive);
//   Receive* taken = key.first == nullptr ? nullptr : &key.take_first();
//
// The decisions are those of the Receiver (services/channels/protocol/receiver.hpp). Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/channels/protocol/early.hpp"
#include "services/channels/protocol/key_table.hpp"

namespace lfc::channels {

struct Key;
struct Receive;
struct KeysOfComm;

// Stream: the messages of one process on one communicator. The matching below numbers them with 16 bits; messages from
// channels that are given below get numbers in between.
struct Stream {
  std::uint16_t last = 0;   // number of the last message outside channels, as its sender gave it
  std::uint16_t given = 0;  // how many came from channels and were given below
  bool known = false;       // `last` is
  bool ordered = true;      // no number was left out
  std::uint32_t peer = 0;   // the process, as the engine's peer
  KeysOfComm* comm = nullptr;
  std::vector<Key*> keys;  // those that are busy (Keys::set_busy), then the others
  std::size_t busy = 0;    // how many are
  EarlyMessages<Key> early;

  // A message has come outside channels. Returns the number under which the matching below expects it.
  std::uint16_t count(std::uint16_t number) noexcept {
    ordered = ordered && (!known || number == static_cast<std::uint16_t>(last + 1));
    last = number;
    known = true;
    return static_cast<std::uint16_t>(number + given);
  }
};

struct Key {
  Key(const End& its_end, Stream& from) : end(its_end), stream(&from) {}

  End end;
  Stream* stream;
  std::uint32_t id = 0;      // of its channel
  std::size_t place = 0;     // in the stream's keys
  bool on = false;           // messages come on the channel
  bool clean = false;        // no receive posted below by others can match
  bool counted = false;      // `waiting` is exact
  std::uint64_t others = 0;  // receives that others posted below and that can match
  std::int64_t waiting = 0;  // messages given below less those that own receives got
  std::uint32_t posted = 0;  // own receives posted below
  EarlyMessages<Key>::Item* first_early = nullptr;  // messages that are kept here
  EarlyMessages<Key>::Item* last_early = nullptr;
  std::vector<Receive*> all;                  // persistent receives
  bool pinned = false;                        // it stays without those
  Receive *first = nullptr, *last = nullptr;  // those that wait here, in order
  std::uint64_t native_starts = 0, next_offer = 1;
  std::uint64_t on_channel = 0;  // receives that did not go below
  std::uint64_t chances = 0;     // starts that did, while no other of the key was there
  std::uint64_t given = 0;       // messages of the channel that were given below
  bool closed = false;           // too few were received here: there will be no channel
  double gain_us = 0;            // time that each message here saves, by the plan

  // Whether receives may wait here, as far as known without a probe.
  bool is_open() const noexcept {
    return first != nullptr || (on && clean && counted && posted == 0 && waiting == 0);
  }
  // Whether fewer than half of all messages could be received here, after a trial.
  bool is_rare() const noexcept {
    constexpr std::uint64_t kTrial = 256;
    return std::max(chances, given) >= kTrial && on_channel < std::max(native_starts, given);
  }
  inline void wait_on_channel(Receive& receive) noexcept;
  inline Receive& take_first() noexcept;
};

// Receive: a receive of exactly this source and tag.
struct Receive {
  Receive() = default;
  explicit Receive(Key& its_key) : key(&its_key) {}

  enum class Place : std::uint8_t { idle, on_channel, posted };

  Key* key = nullptr;
  Place place = Place::idle;
  bool direct = false;  // contiguous, and short enough
  std::size_t capacity = 0;
  std::uint64_t others = 0;  // of the key, when the receive was posted below
  void* owner = nullptr;
  Receive* next = nullptr;  // the next one that waits here
};

inline void Key::wait_on_channel(Receive& receive) noexcept {
  ++on_channel;
  receive.place = Receive::Place::on_channel;
  receive.next = nullptr;
  (first == nullptr ? first : last->next) = &receive;
  last = &receive;
}

inline Receive& Key::take_first() noexcept {
  Receive& taken = *first;
  first = taken.next;
  taken.place = Receive::Place::idle;
  return taken;
}

}  // namespace lfc::channels
