// Frames: the units that travel between two engines.
//
// A frame is `Meta` (its type, the credits that it returns) plus payload bytes. A link that owns a
// private connection per peer (shm, loop, tcp) encodes Meta as it likes. A link whose endpoint is shared by all peers
// (ofi, sim) puts the 24-byte `Header` below in front of the payload.
//
// | type         | class   | sent by, when                          | reply        | payload      |
// |--------------|---------|----------------------------------------|--------------|--------------|
// | hello        | control | link, before its first frame to a peer | hello_ack    | the link's   |
// | hello_ack    | control | link, when it accepts a hello          | -            | the link's   |
// | goodbye      | control | link, when it closes a peer            | -            | -            |
// | credit       | control | NI, enough credits are owed            | -            | Credit       |
// | message      | data    | host                                   | (credit)     | host's bytes |
// | put          | data    | NI, remote write, no native path       | put_ack      | Put + bytes  |
// | put_ack      | control | NI, all bytes of a put are in place    | -            | Ack          |
// | get          | data    | NI, remote read, no native path        | get_data ... | Get          |
// | get_data     | data    | NI, the bytes that were read, in order | -            | Ack + bytes  |
// | atomic       | data    | NI, 32- or 64-bit operation            | atomic_reply | Atomic       |
// | atomic_reply | control | NI, an atomic's old value, or an error | -            | Ack          |
// | service      | data    | an NI service                          | (credit)     | the service's|
// | service_data | data    | a service: bytes that were requested   | -            | the service's|
// | service_ack  | control | a service: reply to a service frame    | -            | <= 24 bytes  |
// | rail         | control | link bond, about its rails             | see there    | Note         |
// Payload X is struct XPayload of engine/remote_memory.hpp; Note is link/bond/bond_wire.hpp's.
//
// Data frames except get_data and service_data consume one credit of the ordered pair (sender, receiver). Control
// frames consume none and their number in flight is bounded by the number of data frames
// (common/engine/README.md). Source: LFC thesis 3.4 (packet anatomy, Tables 3.2 and 3.3).
//
//   Meta meta{FrameType::message, tag, credits};
//   link.send(peer, meta, slices, 2);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lfc/numbers.h"

namespace lfc {

// Dense index of a peer inside one NI; never on the wire without a check.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = LFC_NO_PEER;
inline constexpr PeerId kPeerLater = kNoPeer - 1;  // see FrameSink::on_connect

enum class FrameType : std::uint8_t {
  hello = 1,
  hello_ack,
  goodbye,
  credit,
  message,
  put,
  put_ack,
  get,
  get_data,
  atomic,
  atomic_reply,
  service,
  service_data,
  service_ack,
  rail,
  last_ = rail,
};

constexpr bool is_valid(FrameType type) noexcept {
  return type >= FrameType::hello && type <= FrameType::last_;
}

// Bytes of a `service_ack`.
inline constexpr std::size_t kServiceAckRoom = 32;

// Data frames carry payload of any length. They must not use a link's reserve for control frames.
constexpr bool is_data(FrameType type) noexcept {
  switch (type) {
    case FrameType::message:
    case FrameType::put:
    case FrameType::get:
    case FrameType::get_data:
    case FrameType::atomic:
    case FrameType::service:
    case FrameType::service_data: return true;
    default: return false;
  }
}

// Frames that take a credit, because they need a receive buffer. The receiver of `get_data` and
// `service_data` has fixed the place of their bytes in its request. So such a reply does not wait for a
// credit that a request holds.
constexpr bool needs_credit(FrameType type) noexcept {
  return is_data(type) && type != FrameType::get_data && type != FrameType::service_data;
}

constexpr const char* to_string(FrameType type) noexcept {
  switch (type) {
    case FrameType::hello: return "hello";
    case FrameType::hello_ack: return "hello_ack";
    case FrameType::goodbye: return "goodbye";
    case FrameType::credit: return "credit";
    case FrameType::message: return "message";
    case FrameType::put: return "put";
    case FrameType::put_ack: return "put_ack";
    case FrameType::get: return "get";
    case FrameType::get_data: return "get_data";
    case FrameType::atomic: return "atomic";
    case FrameType::atomic_reply: return "atomic_reply";
    case FrameType::service: return "service";
    case FrameType::service_data: return "service_data";
    case FrameType::service_ack: return "service_ack";
    case FrameType::rail: return "rail";
  }
  return "unknown";
}

// Everything about a frame but its payload.
struct alignas(std::uint32_t) Meta {
  FrameType type;
  std::uint8_t tag = 0;      // the host's handler (message) or the service (service...)
  std::uint8_t credits = 0;  // credits returned to the receiver of this frame (piggyback)
  // Not on the wire: the sender's next frame to the peer follows at once, so they may leave together.
  bool more = false;
};
static_assert(sizeof(Meta) == sizeof(std::uint32_t));  // no padding: it is moved as one word

// A piece of a gathered payload. The bytes stay the caller's.
struct Slice {
  const void* data;
  std::size_t size;
};
inline std::size_t total_size(const Slice* slices, int count) noexcept {
  std::size_t sum = 0;
  for (int i = 0; i < count; ++i) sum += slices[i].size;
  return sum;
}

// Header of a frame on a shared endpoint. Little-endian on the wire.
struct Header {
  std::uint32_t key;       // tag_of() the receiver's key: a stray frame is counted and dropped
  std::uint32_t source;    // index under which the receiver knows the sender; kNoPeer in a hello
  std::uint32_t sequence;  // frame number of the ordered pair, control and data alike
  std::uint32_t length;    // payload bytes that follow
  std::uint8_t type;
  std::uint8_t tag;
  std::uint8_t credits;
  std::uint8_t version;
  std::uint32_t check;  // header_check() of the fields above
};
static_assert(sizeof(Header) == 24);

// The payload of a credit frame, which returns more credits than another frame's header can.
struct CreditPayload {
  std::uint32_t credits;
};
static_assert(sizeof(CreditPayload) == 4);

inline constexpr std::uint8_t kWireVersion = 12;

// Hashes the first 20 bytes, so that a damaged header is recognised before any field is used.
std::uint32_t header_check(const Header& header) noexcept;

void encode_header(Header& out, std::uint32_t key, std::uint32_t source, std::uint32_t sequence,
                   Meta meta, std::uint32_t length) noexcept;

enum class HeaderFault : std::uint8_t { none, short_frame, version, check, key, type, length };

// Checks a received frame: its size, version, check word, key, type and length, in that order.
// On `none`, `out` holds the header and the payload is frame[sizeof(Header)..]. The caller still
// has to check `source` against its table and `sequence` against the expected number.
HeaderFault decode_header(std::span<const std::byte> frame, std::uint32_t key,
                          Header& out) noexcept;

}  // namespace lfc
