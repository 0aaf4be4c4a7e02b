#include "link/ofi/ofi_greeter.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "link/proof.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

// A handshake frame that finds no room is tried again this soon, and later and later.
constexpr auto kShortestPause = 20us;
constexpr auto kLongestPause = 2ms;
constexpr auto kLongestRepeat = 2s;  // of a hello

// The payload of a hello_ack; that of a hello has the sender's address behind it. What a hello proves begins with the
// slot.
struct Handshake {
  HelloHead head;
  std::uint32_t slot;  // under which the sender knows the receiver
  std::uint32_t reserved;
};

// The sender's address, if the hello was made for us, `own`, by who knows our key.
std::optional<Address> believe(const Identity& own, std::string_view link,
                               std::span<const std::byte> payload) {
  if (payload.size() <= sizeof(Handshake)) return std::nullopt;
  const auto head = load_pod<HelloHead>(payload.data());
  if (!head.nonce ||
      !(head.proof == hello_proof(own, link, head.nonce, payload.subspan(sizeof head))))
    return std::nullopt;
  std::optional<Address> from = Address::parse(payload.subspan(sizeof(Handshake)));
  return from && !from->has_key() ? std::move(from) : std::nullopt;
}

// Of the payload behind its head, all of which the proof is about.
std::vector<std::byte> proven_part(const Handshake& said, std::span<const std::byte> address) {
  std::vector<std::byte> bytes(sizeof said - sizeof said.head);
  std::memcpy(bytes.data(), &said.slot, bytes.size());
  bytes.insert(bytes.end(), address.begin(), address.end());
  return bytes;
}

}  // namespace

void OfiGreeter::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

void OfiGreeter::on_hello(std::span<const std::byte> payload) {
  const std::optional<Address> from = believe(shared_.identity, shared_.link.name(), payload);
  if (!from) return shared_.counters.add(Counter::frames_dropped);
  const auto said = load_pod<Handshake>(payload.data());
  const auto heard =
      std::find_if(channels_.all().begin(), channels_.all().end(),
                   [&](const auto& each) { return each->peer_nonce == said.head.nonce; });
  OfiChannel* channel = heard == channels_.all().end() ? nullptr : heard->get();
  if (channel != nullptr) {
    // A hello is repeated until it is answered; that of a channel that has ended was recorded by somebody.
    if (channel->state != State::open) return shared_.counters.add(Counter::frames_dropped);
  } else {
    const PeerId peer = shared_.sink.on_connect(shared_.link, *from);
    if (peer == kNoPeer) return shared_.counters.add(Counter::frames_dropped);
    channel = channels_.of(peer);
    if (channel == nullptr || channel->state == State::closed) {
      std::string why_not;
      channel = channels_.make(peer, *from, why_not);
      if (channel == nullptr) return shared_.counters.add(Counter::frames_dropped);
    } else if (channel->state == State::open) {
      return channels_.break_off(*channel, "the peer opened a second connection");
    } else if (channel->state != State::greeting) {  // else the hellos crossed
      return;
    }
    channel->state = State::open;
    channel->remote_slot = said.slot;
    channel->peer_nonce = said.head.nonce;
  }
  channel->answer_due = true;
  channel->next_try = {};
  channels_.attend(*channel);
}

void OfiGreeter::on_hello_ack(OfiChannel& channel, std::span<const std::byte> payload) noexcept {
  if (payload.size() != sizeof(Handshake)) return shared_.counters.add(Counter::frames_dropped);
  const auto said = load_pod<Handshake>(payload.data());
  const bool proven =
      channel.nonce &&
      said.head.proof == ack_proof(channel.target, shared_.link.name(), channel.nonce);
  if (!proven) return shared_.counters.add(Counter::frames_dropped);
  if (channel.state != State::greeting && channel.state != State::closing) return;
  channel.remote_slot = said.slot;
  channel.next_try = {};
  if (channel.state == State::greeting) channel.state = State::open;
}

OfiGreeter::Sent OfiGreeter::send(OfiChannel& channel, FrameType type,
                                  std::uint32_t sequence) noexcept {
  SendBuffer* buffer = shared_.sends.take(false);
  if (buffer == nullptr) return Sent::no_room;
  buffer->handshake = true;
  Handshake said{.head = {}, .slot = channel.slot, .reserved = 0};
  if (type == FrameType::hello) {
    if (!channel.nonce) channel.nonce = random_key();
    said.head.nonce = channel.nonce;
    said.head.proof = hello_proof(channel.target, shared_.link.name(), channel.nonce,
                                  proven_part(said, own_address_));
  } else if (type == FrameType::hello_ack) {
    said.head.proof = ack_proof(shared_.identity, shared_.link.name(), channel.peer_nonce);
  }
  const Slice slices[] = {{&said, sizeof said}, {own_address_.data(), own_address_.size()}};
  const int count = type == FrameType::hello ? 2 : type == FrameType::hello_ack ? 1 : 0;
  std::size_t payload = 0;
  for (int i = 0; i < count; ++i) payload += slices[i].size;
  buffer->size = OfiFrames::fill(buffer->data, channel, sequence, {type}, slices, count, payload);
  const ssize_t result = frames_.launch(channel, *buffer);
  if (result == 0) return Sent::yes;
  shared_.sends.give_back(*buffer);
  if (result == -FI_EAGAIN) return Sent::no_room;
  channel.failure = fi_strerror(static_cast<int>(-result));
  return Sent::failed;
}

void OfiGreeter::repeat(OfiChannel& channel) noexcept {
  if (channel.state == State::open) channel.answer_due = true;
  channel.next_try = Clock::now() + kLongestPause;
  channels_.attend(channel);
}

bool OfiGreeter::attend(OfiChannel& channel, Clock::time_point now) noexcept {
  const bool knows_slot = channel.remote_slot != OfiChannel::kUnknown;
  const bool closing = channel.state == State::closing;
  const bool frame_due =
      channel.state == State::greeting || channel.answer_due || (closing && knows_slot);
  if (frame_due && now >= channel.next_try) {
    const FrameType type = closing                            ? FrameType::goodbye
                           : channel.state == State::greeting ? FrameType::hello
                                                              : FrameType::hello_ack;
    switch (send(channel, type, closing ? channel.next_send : 0)) {
      case Sent::yes:
        if (closing) {
          channel.state = State::closed;
          return false;
        }
        channel.pause = {};
        channel.answer_due = false;
        channel.greeted = true;
        channel.next_try = now + channel.repeat_after;
        channel.repeat_after = std::min<Clock::duration>(channel.repeat_after * 2, kLongestRepeat);
        break;
      case Sent::no_room:
        channel.pause =
            std::clamp<Clock::duration>(channel.pause * 2, kShortestPause, kLongestPause);
        channel.next_try = now + channel.pause;
        break;
      case Sent::failed: channels_.break_off(channel, channel.failure); return false;
    }
  }
  return true;
}

}  // namespace lfc
