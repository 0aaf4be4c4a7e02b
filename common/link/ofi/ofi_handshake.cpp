#include "link/ofi/ofi_handshake.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "link/proof.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

// A handshake frame that finds no room is tried again after the first pause, which doubles up to the second.
constexpr auto kShortestPause = 20us;
constexpr auto kLongestPause = 2ms;
constexpr auto kLongestRepeat = 2s;  // of a hello

// The payload of a hello_ack. That of a hello has the sender's address behind it, and its proof covers all bytes from
// the slot on.
struct HandshakeFrame {
  HelloHead head;
  std::uint32_t slot;  // under which the sender knows the receiver
  std::uint32_t reserved;
};

// Returns the sender's address, if the proof shows that the hello was made for `own` by a process that knows its key.
std::optional<Address> authenticate(const Identity& own, std::string_view link,
                                    std::span<const std::byte> payload) {
  if (payload.size() <= sizeof(HandshakeFrame)) return std::nullopt;
  const auto head = load_pod<HelloHead>(payload.data());
  if (!head.nonce ||
      !(head.proof == hello_proof(own, link, head.nonce, payload.subspan(sizeof head))))
    return std::nullopt;
  std::optional<Address> from = Address::parse(payload.subspan(sizeof(HandshakeFrame)));
  return from && !from->has_key() ? std::move(from) : std::nullopt;
}

// Returns the bytes of the payload behind its head, which the proof covers.
std::vector<std::byte> proven_part(const HandshakeFrame& frame,
                                   std::span<const std::byte> address) {
  std::vector<std::byte> bytes(sizeof frame - sizeof frame.head);
  std::memcpy(bytes.data(), &frame.slot, bytes.size());
  bytes.insert(bytes.end(), address.begin(), address.end());
  return bytes;
}

}  // namespace

void OfiHandshake::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

void OfiHandshake::on_hello(std::span<const std::byte> payload) {
  const std::optional<Address> from = authenticate(shared_.identity, shared_.link.name(), payload);
  if (!from) return shared_.counters.add(Counter::frames_dropped);
  const auto frame = load_pod<HandshakeFrame>(payload.data());
  const auto known =
      std::find_if(connections_.all().begin(), connections_.all().end(),
                   [&](const auto& each) { return each->peer_nonce == frame.head.nonce; });
  OfiConnection* connection = known == connections_.all().end() ? nullptr : known->get();
  if (connection != nullptr) {
    // A hello is repeated until its reply arrives. A hello of a connection that has ended has been recorded and
    // replayed.
    if (connection->state != State::open) return shared_.counters.add(Counter::frames_dropped);
  } else {
    const PeerId peer = shared_.sink.on_connect(shared_.link, *from);
    if (peer == kNoPeer) return shared_.counters.add(Counter::frames_dropped);
    connection = connections_.of(peer);
    if (connection == nullptr || connection->state == State::closed) {
      std::string why_not;
      connection = connections_.make(peer, *from, why_not);
      if (connection == nullptr) return shared_.counters.add(Counter::frames_dropped);
    } else if (connection->state == State::open) {
      return connections_.break_off(*connection, "the peer opened a second connection");
    } else if (connection->state != State::handshake) {  // else the hellos crossed
      return;
    }
    connection->state = State::open;
    connection->remote_slot = frame.slot;
    connection->peer_nonce = frame.head.nonce;
  }
  connection->ack_due = true;
  connection->next_try = {};
  connections_.add_pending(*connection);
}

void OfiHandshake::on_hello_ack(OfiConnection& connection,
                                std::span<const std::byte> payload) noexcept {
  if (payload.size() != sizeof(HandshakeFrame))
    return shared_.counters.add(Counter::frames_dropped);
  const auto frame = load_pod<HandshakeFrame>(payload.data());
  const bool proven =
      connection.nonce &&
      frame.head.proof == ack_proof(connection.target, shared_.link.name(), connection.nonce);
  if (!proven) return shared_.counters.add(Counter::frames_dropped);
  if (connection.state != State::handshake && connection.state != State::closing) return;
  connection.remote_slot = frame.slot;
  connection.next_try = {};
  if (connection.state == State::handshake) connection.state = State::open;
}

OfiHandshake::Sent OfiHandshake::send(OfiConnection& connection, FrameType type,
                                      std::uint32_t sequence) noexcept {
  SendBuffer* buffer = shared_.sends.take(false);
  if (buffer == nullptr) return Sent::no_room;
  buffer->handshake = true;
  HandshakeFrame frame{.head = {}, .slot = connection.slot, .reserved = 0};
  if (type == FrameType::hello) {
    if (!connection.nonce) connection.nonce = random_key();
    frame.head.nonce = connection.nonce;
    frame.head.proof = hello_proof(connection.target, shared_.link.name(), connection.nonce,
                                   proven_part(frame, own_address_));
  } else if (type == FrameType::hello_ack) {
    frame.head.proof = ack_proof(shared_.identity, shared_.link.name(), connection.peer_nonce);
  }
  const Slice slices[] = {{&frame, sizeof frame}, {own_address_.data(), own_address_.size()}};
  const int count = type == FrameType::hello ? 2 : type == FrameType::hello_ack ? 1 : 0;
  std::size_t payload = 0;
  for (int i = 0; i < count; ++i) payload += slices[i].size;
  buffer->size =
      OfiFrames::fill(buffer->data, connection, sequence, {type}, slices, count, payload);
  const ssize_t result = frames_.launch(connection, *buffer);
  if (result == 0) return Sent::yes;
  shared_.sends.give_back(*buffer);
  if (result == -FI_EAGAIN) return Sent::no_room;
  connection.failure = fi_strerror(static_cast<int>(-result));
  return Sent::failed;
}

void OfiHandshake::repeat(OfiConnection& connection) noexcept {
  if (connection.state == State::open) connection.ack_due = true;
  connection.next_try = shared_.present.now() + kLongestPause;
  connections_.add_pending(connection);
}

bool OfiHandshake::advance(OfiConnection& connection, Clock::time_point now) noexcept {
  const bool knows_slot = connection.remote_slot != OfiConnection::kUnknown;
  const bool closing = connection.state == State::closing;
  const bool frame_due =
      connection.state == State::handshake || connection.ack_due || (closing && knows_slot);
  if (frame_due && now >= connection.next_try) {
    const FrameType type = closing                                ? FrameType::goodbye
                           : connection.state == State::handshake ? FrameType::hello
                                                                  : FrameType::hello_ack;
    switch (send(connection, type, closing ? connection.next_send : 0)) {
      case Sent::yes:
        if (closing) {
          connection.state = State::closed;
          return false;
        }
        connection.pause = {};
        connection.ack_due = false;
        connection.sent_hello = true;
        connection.next_try = now + connection.repeat_after;
        connection.repeat_after =
            std::min<Clock::duration>(connection.repeat_after * 2, kLongestRepeat);
        break;
      case Sent::no_room:
        connection.pause =
            std::clamp<Clock::duration>(connection.pause * 2, kShortestPause, kLongestPause);
        connection.next_try = now + connection.pause;
        break;
      case Sent::failed: connections_.break_off(connection, connection.failure); return false;
    }
  }
  return true;
}

}  // namespace lfc
