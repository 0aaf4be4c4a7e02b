// Stream: the wire format of an established connection of the tcp link: 8-byte prefix, payload, padding to 8.
//
// A connection opens with a `Header` (wire/frame.hpp) and the sender's address: hello. The other
// side replies with a bare Header: hello_ack, or goodbye when its own hello crossed ours and takes
// precedence. After that every frame has the prefix below. Frames of the NI keep their FrameType as
// kind; the link's own kinds carry remote memory:
//
// | kind     | sent by / when                             | reply       | payload              |
// |----------|--------------------------------------------|-------------|----------------------|
// | goodbye  | a side that closes the peer, last          | -           | -                    |
// | put      | origin, a segment of a put                 | answer      | BulkHead + bytes     |
// | get      | origin                                     | get_data... | BulkHead             |
// | get_data | target, a segment of the answer, in order  | -           | BulkHead + bytes     |
// | answer   | target: a put is in place, or a put or get | -           | Answer               |
// |          | was refused                                |             |                      |
//
//   std::uint64_t word = encode_prefix({length, kind, tag, credits}, sequence++);
//   if (!decode_prefix(word, expected++, prefix)) protocol_error();
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "wire/frame.hpp"

namespace lfc::tcp {

using Kind = std::uint8_t;
inline constexpr Kind kGoodbye = static_cast<Kind>(FrameType::goodbye);
inline constexpr Kind kPut = 64;
inline constexpr Kind kGet = 65;
inline constexpr Kind kGetData = 66;
inline constexpr Kind kReply = 67;

inline constexpr std::size_t kPrefix = 8;

constexpr std::size_t padded(std::size_t size) noexcept { return round_up(size, 8); }

struct Prefix {
  std::uint32_t length = 0;  // payload bytes, 24 bits on the wire
  Kind kind = 0;
  std::uint8_t tag = 0;
  std::uint8_t credits = 0;
};

// Folds a word to a byte that every single-bit error changes; never 0 for the word 0.
constexpr std::uint8_t prefix_check(std::uint64_t word) noexcept {
  word ^= word >> 32;
  word ^= word >> 16;
  word ^= word >> 8;
  return static_cast<std::uint8_t>(word ^ 0xa5);
}

constexpr std::uint64_t encode_prefix(const Prefix& prefix, std::uint8_t sequence) noexcept {
  const std::uint64_t word = std::uint64_t{prefix.length} | std::uint64_t{prefix.kind} << 24 |
                             std::uint64_t{prefix.tag} << 32 | std::uint64_t{prefix.credits} << 40 |
                             std::uint64_t{sequence} << 48;
  return word | std::uint64_t{prefix_check(word)} << 56;
}

// False: damaged, or not the frame that is due. The caller checks kind and length.
constexpr bool decode_prefix(std::uint64_t word, std::uint8_t sequence, Prefix& out) noexcept {
  out.length = static_cast<std::uint32_t>(word & 0xffffff);
  out.kind = static_cast<Kind>(word >> 24);
  out.tag = static_cast<std::uint8_t>(word >> 32);
  out.credits = static_cast<std::uint8_t>(word >> 40);
  constexpr std::uint64_t kBody = (std::uint64_t{1} << 56) - 1;
  return static_cast<std::uint8_t>(word >> 56) == prefix_check(word & kBody) &&
         static_cast<std::uint8_t>(word >> 48) == sequence;
}

// Names an operation of the side that started it.
struct OpRef {
  std::uint32_t index;
  std::uint32_t generation;
};

struct BulkHead {
  OpRef operation;
  std::uint64_t region;   // put, get: LinkRegion.key of the target
  std::uint64_t address;  // put, get: at the target; get_data: offset in the operation
  std::uint64_t left;     // bytes of the operation from here on, this segment included
};
static_assert(sizeof(BulkHead) == 32);

struct Reply {
  OpRef operation;
  std::uint32_t result;  // enum Result
  std::uint32_t reserved;
};
static_assert(sizeof(Reply) == 16);

}  // namespace lfc::tcp
