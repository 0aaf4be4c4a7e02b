// Frames between two bonds: a Head in front of every payload, and notes about rails.
//
// Every frame of the NI, and each note marked below, has a number in the stream from one process to the other, on
// whichever rail it travels. The receiver delivers by number and drops duplicates. Every frame, numbered or not,
// acknowledges the frames that have arrived in the other direction.
//
// | note     | numbered | sent when                                    | reply               |
// |----------|----------|----------------------------------------------|---------------------|
// | arrived  | no       | much has arrived on a rail; on that rail     | -                   |
// | probe    | no       | a rail that has work makes no progress; on   | reply, same rail    |
// |          |          | all rails                                    |                     |
// | reply    | no       | a probe has come; on its rail                | -                   |
// | leave    | yes      | the sender has closed a connection of a      | leave, unless sent  |
// |          |          | rail: it places and delivers nothing from it | before              |
// | enter    | no       | a rail is connected, or connected again;     | enter, unless sent  |
// |          |          | first, on that rail (entries.hpp)            | before              |
// | goodbye  | yes      | the sender has closed the peer; last         | goodbye, unless     |
// |          |          |                                              | sent before         |
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc::bond {

inline constexpr std::size_t kMaxRails = 8;
inline constexpr std::uint8_t kNoRail = 0xff;
inline constexpr std::uint8_t kBondVersion = 3;

// Numbers begin with 1 and wrap around; they are compared by their difference.
struct Head {
  std::uint32_t number;  // enter: the sender's name of the session; other notes without a number: 0
  std::uint32_t
      acknowledged;  // all up to here have arrived; enter: the receiver's name, 0 if not known yet
};
static_assert(sizeof(Head) == 8);  // the payload behind it stays aligned to 8

enum class NoteKind : std::uint8_t { arrived = 1, probe, reply, leave, goodbye, enter };

struct Note {
  NoteKind kind;
  std::uint8_t rail;  // by the receiver's numbers
  std::uint16_t reserved;
  // arrived: numbered frames on this rail so far; probe, reply: the round; leave, enter: the number of the connection
  std::uint32_t value;
};
static_assert(sizeof(Note) == 8);

constexpr bool is_numbered(NoteKind kind) noexcept {
  return kind == NoteKind::leave || kind == NoteKind::goodbye;
}

// The bond's section of an address. A process without it has one rail and no bond.
struct Section {
  std::uint8_t version;
  std::uint8_t rails;
  std::uint16_t reserved;
};
static_assert(sizeof(Section) == 4);

// Returns how far `number` is ahead of `base`; negative: behind it.
constexpr std::int32_t distance(std::uint32_t base, std::uint32_t number) noexcept {
  return static_cast<std::int32_t>(number - base);
}

}  // namespace lfc::bond
