// Hello: the datagrams by which two processes of the verbs link exchange their queue pairs.
//
// | datagram | contents or meaning                            | reply                       |
// |----------|------------------------------------------------|-----------------------------|
// | request  | the requester's queue pair and its address     | reply, or refused           |
// | reply    | the responder's queue pair, which is connected | a frame over the queue pair |
// | gone     | the requester does not want the connection     | -                           |
// | refused  | the responder cannot make a connection         | -                           |
//
// Datagrams get lost, so request and reply are repeated until the next step arrives. An address may be longer than a
// datagram: it goes in parts, each with all other fields. Each carries a proof under the responder's key
// (link/proof.hpp).
//
//   for (const Bytes& part : encode(message, address, room)) send(part);
//   if (const Hello* whole = inbox.accept(part)) ...                    // the last missing part has arrived
//
// Pure. Held by tests/unit/link/verbs_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "wire/address.hpp"
#include "wire/key.hpp"

namespace lfc::verbs {

// A queue pair, as the other side needs it.
struct Offer {
  std::uint32_t queue_pair = 0;
  std::uint32_t first = 0;   // number of its first packet
  std::uint16_t window = 0;  // frames that it can take at a time
  std::uint8_t mtu = 0;      // enum ibv_mtu
  std::uint8_t reads = 0;    // that it serves at a time

  friend bool operator==(const Offer&, const Offer&) = default;
};
static_assert(sizeof(Offer) == 12);

struct HelloPart {
  enum class Kind : std::uint8_t { request = 1, reply, gone, refused };
  std::uint32_t tag = 0;  // tag_of() the receiver's key
  std::uint8_t version = 0;
  Kind kind = Kind::request;
  std::uint16_t size = 0;  // of the whole address
  std::uint16_t at = 0;    // offset of the bytes that follow
  std::uint16_t unused = 0;
  Offer offer;
  Key nonce;  // of the requester
  Key proof;
};
static_assert(sizeof(HelloPart) == 56);

struct Hello {
  HelloPart head;
  std::vector<std::byte> address;
};

// Returns the proof under the key of `responder`.
Key proof_of(const HelloPart& head, const Identity& responder, std::string_view link,
             std::span<const std::byte> address);

std::vector<std::vector<std::byte>> encode(const HelloPart& head,
                                           std::span<const std::byte> address, std::size_t room);

class HelloInbox {
 public:
  explicit HelloInbox(std::uint32_t tag) noexcept : tag_(tag) {}
  // Returns a complete hello, valid until the next call. Null: malformed, for another process, or not yet complete.
  const Hello* accept(std::span<const std::byte> part);

 private:
  static constexpr std::size_t kMost = 64;  // incomplete hellos
  struct Partial {
    Hello hello;
    std::size_t have = 0;
    std::vector<std::uint16_t> parts;  // their places
  };
  std::uint32_t tag_;
  std::deque<Partial> partial_;
  Hello whole_;
};

}  // namespace lfc::verbs
