// NEON frames: a `Header` plus at most Limits::frame payload bytes, between an origin and a target. A carrier (an NI
// service, MPI messages, a test) may reorder frames, also over several rails, but neither lose nor repeat any.
//
// | kind       | from   | what                                        | reply                      |
// |------------|--------|---------------------------------------------|----------------------------|
// | data       | origin | a piece of a put; counts in its generation  | delivered, if strong       |
// | get        | origin | reads announced memory; counts likewise     | answer ...                 |
// | answer     | target | bytes of a get, in any order                | -                          |
// | want       | origin | a put waits for this announcement           | grant, once it is made     |
// | grant      | target | the announcement is made; payload: Token    | -                          |
// |            |        | ... or withdrawn (kFailed)                  | recalled, if kRecalled     |
// | recalled   | origin | no direct write of it is or will be on its way | -                       |
// | refund     | target | nothing but Header::refund                  | -                          |
// | delivered  | target | a strong piece is in its buffer             | -                          |
// | confirm    | origin | waits for the first `count` frames, or all  | confirmed                  |
// | confirmed  | target | they are, or never will be (kFailed)        | -                          |
// | put_notify | origin | a piece of a put to the window at large     | delivered, if strong       |
// | put_runs   | origin | as put_notify, to several places (runs.hpp)  | delivered, if strong       |
// | get_notify | origin | reads the window at large                   | answer ...                 |
//
// A *generation* consists of the puts and gets of an origin to a target and tag up to a final one. The k-th final put
// or get of an origin belongs to the k-th announcement that names the origin. The frames of a generation are numbered
// from 1. So the number of the final one is their count: the target counts the notification as received only when all
// are in place. So a notification never overtakes data, in whatever order frames arrive.
// Source: NEON thesis 5.2 (rules), 7.4 (message order); the counting is ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc::neon {

using Rank = std::uint32_t;  // within the group that the window spans

enum class Kind : std::uint8_t {
  data = 1,
  get,
  reply,
  want,
  grant,
  refund,
  delivered,
  put_notify,
  get_notify,
  recalled,
  put_runs,
  confirm,
  confirmed,
};

// Header::flags
enum Flag : std::uint8_t {
  kFinal = 1,     // data, get: the last frame of the generation; confirm: all of its frames
  kCharged = 2,   // data, get: paid for from the budget for early data
  kStrong = 4,    // data, put_notify, put_runs: acknowledge when it is in place
  kAlways = 8,    // want: this and all later announcements of the tag
  kFailed = 16,   // answer, grant, confirmed: not possible (out of range, or withdrawn)
  kOverrun = 32,  // data: the origin found that its put does not fit
  kRecalled =
      64,  // grant that failed: the origin could write to the buffer, and must reply `recalled`
};

// Little-endian on the wire, 8-byte aligned.
struct Header {
  Kind kind{};
  std::uint8_t flags = 0;
  std::uint16_t runs = 0;        // put_runs
  std::uint32_t window = 0;      // set and read by the carrier alone
  std::uint32_t tag = 0;         // or the index of the notification
  std::uint32_t generation = 0;  // wraps around
  // Number of the frame in its generation, from 1 (data, get), frames of the operation (put_...), or of the generation
  // so far (confirm).
  std::uint32_t count = 0;
  std::uint32_t refund = 0;  // budget given back to the receiver of this frame, bytes
  // The origin's name for the operation. Grant: the notification key, set by the carrier; 0: the origin has none.
  std::uint64_t id = 0;
  std::uint64_t offset =
      0;  // in the buffer (data, get) or the result (answer); window displacement
  // Where the whole put ends in the buffer (data), bytes wanted (get...), announced (grant), offset within the put.
  std::uint64_t extra = 0;
};
static_assert(sizeof(Header) == 48);

// Notification key: 29 bits that a direct write carries in the same request of the device, and then no frame is sent.
// One of two kinds:
// - It names the final frame of the only put of a generation. The carrier makes it of its number for an origin and tag,
//   which is not 0, and the last bits of the generation. The target hands it out with a grant.
// - It has the bit kWindowKey, and names a counter of a window, for a put to the window at large (WindowKey).
inline constexpr unsigned kKeyGenerationBits = 8;
inline constexpr unsigned kKeyNumberBits = 20;
inline constexpr std::uint32_t kWindowKey = 1u << (kKeyGenerationBits + kKeyNumberBits);
constexpr std::uint32_t generation_bits(std::uint32_t generation_or_key) noexcept {
  return generation_or_key & ((1u << kKeyGenerationBits) - 1);
}
constexpr std::uint32_t notification_key(std::uint32_t number, std::uint32_t generation) noexcept {
  return number << kKeyGenerationBits | generation_bits(generation);
}

// The key of a window's counter. The window is named by its place in the carrier's table at the target, and by the last
// bits of its generation there, so that a new window in the place of an old one has other keys.
struct WindowKey {
  static constexpr unsigned kPlaceBits = 12, kGenerationBits = 4, kCounterBits = 12;
  static constexpr std::uint32_t kPlaces = 1u << kPlaceBits, kGenerations = 1u << kGenerationBits,
                                 kCounters = 1u << kCounterBits;
  static_assert(kPlaceBits + kGenerationBits + kCounterBits == kKeyGenerationBits + kKeyNumberBits);

  std::uint32_t place = 0, generation = 0, counter = 0;

  // Returns the key; 0: its bits cannot name that place or that counter.
  constexpr std::uint32_t word() const noexcept {
    if (place >= kPlaces || counter >= kCounters) return 0;
    return kWindowKey | place << (kGenerationBits + kCounterBits) |
           (generation & (kGenerations - 1)) << kCounterBits | counter;
  }
  static constexpr WindowKey of(std::uint32_t word) noexcept {
    return {.place = word >> (kGenerationBits + kCounterBits) & (kPlaces - 1),
            .generation = word >> kCounterBits & (kGenerations - 1),
            .counter = word & (kCounters - 1)};
  }
};

// The carrier's key for direct writes of an origin to announced memory; opaque to the protocol.
struct Token {
  static constexpr std::size_t kRoom = 224;
  std::uint32_t size = 0;  // on the wire the bytes alone
  alignas(8) std::byte bytes[kRoom] = {};
};

// Returns whether `size` bytes at `offset` lie in `room` bytes.
constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t room) noexcept {
  return offset <= room && size <= room - offset;
}

// Sizes, the same on all ranks of a window. Bytes.
struct Limits {
  std::uint32_t frame = 4096;      // payload of one frame at most
  std::uint32_t eager = 16384;     // a larger put waits for the announcement
  std::uint32_t budget = 1 << 16;  // early data of one origin at one target, kOverhead included
};
inline constexpr std::uint32_t kOverhead = 64;  // charge for a parked frame besides its bytes

}  // namespace lfc::neon
