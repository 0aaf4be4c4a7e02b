// Frames of partitioned communication: a `Head`, and behind it a payload.
//
// | kind   | from     | payload  | what                                                                     |
// |--------|----------|----------|--------------------------------------------------------------------------|
// | offer  | sender   | Offer    | a send has been made: the k-th of a key is for the k-th receive of it     |
// | accept | receiver | Accept   | the receive also exists; `epoch`: the last that it has started; then the token |
// | open   | receiver | -        | the receive has started `epoch`                                          |
// | data   | sender   | bytes    | of `epoch`, at `offset`; of an epoch without bytes one empty frame        |
// | placed | sender   | Placed   | bytes of `epoch`, at `offset`, have been written to their place by the sender |
//
// They may come in any order: offers are numbered and taken in that order, and all other frames name their epoch.
// No frame is lost or repeated. Little-endian, 8-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc::partitioned {

enum class Kind : std::uint8_t { offer = 1, accept, open, data, placed };

struct Head {
  Kind kind{};
  std::uint8_t zero[7]{};
  std::uint64_t to = 0;  // the receiver's name of the request; 0: an offer
  std::uint64_t epoch = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(Head) == 32);

struct Offer {
  std::uint64_t comm = 0;    // the communicator's key
  std::uint64_t number = 0;  // among all offers to this receiver, from 0
  std::uint64_t total = 0;   // bytes of an epoch
  std::uint64_t name = 0;    // of the send
  std::int32_t tag = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(Offer) == 40);

struct Accept {
  std::uint64_t name = 0;   // of the receive
  std::uint32_t ahead = 0;  // epochs that may be sent before they are open
  std::uint32_t token =
      0;  // bytes of the token behind this: with it the sender may write to the place of an open epoch
};
static_assert(sizeof(Accept) == 16);

struct Placed {
  std::uint64_t length = 0;
};

// Most bytes of a token, which a sender needs to write to a receive's memory. The carrier defines its contents.
inline constexpr std::size_t kMostToken = 256;

}  // namespace lfc::partitioned
