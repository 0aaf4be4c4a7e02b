// The set-up and the end of OfiLink's channels: addresses, handshakes, and what poll() does for
// channels that need attention.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "link/ofi/ofi_link_impl.hpp"

#include "base/bytes.hpp"
#include "link/proof.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

// A handshake frame that finds no room is tried again this soon, and later and later.
constexpr auto kShortestPause = 20us;
constexpr auto kLongestPause = 2ms;
// A hello without an answer is repeated. The two sides differ, so that they do not collide again.
constexpr auto kFirstRepeat = 50ms;
constexpr auto kOtherFirstRepeat = 170ms;
constexpr auto kLongestRepeat = 2s;
// How long a peer may be unreachable before its kernel is asked, and asked again.
constexpr auto kProbeAfter = 1s;
constexpr auto kGiveUpClosing = 1s;
// How long a frame that others overtook may take, before it is lost.
constexpr auto kGiveUpGap = 5s;

// The payload of a hello_ack; that of a hello has the sender's address behind it. What a hello proves begins with the slot.
struct Handshake {
  HelloHead head;
  std::uint32_t slot;  // under which the sender knows the receiver
  std::uint32_t reserved;
};

// This link's section in an address: the head, then the provider's name, then its address.
struct SectionHead {
  std::uint64_t host;
  std::uint32_t frame_size;
  std::uint16_t provider_size;
  std::uint16_t address_size;
};
struct Section {
  SectionHead head;
  std::string_view provider;
  std::span<const std::byte> address;
};

std::optional<Section> parse_section(std::span<const std::byte> bytes) noexcept {
  Section section{};
  if (bytes.size() < sizeof section.head) return std::nullopt;
  std::memcpy(&section.head, bytes.data(), sizeof section.head);
  bytes = bytes.subspan(sizeof section.head);
  if (bytes.size() != std::size_t{section.head.provider_size} + section.head.address_size)
    return std::nullopt;
  section.provider = {reinterpret_cast<const char*>(bytes.data()), section.head.provider_size};
  section.address = bytes.subspan(section.head.provider_size);
  return section;
}

}  // namespace

// --- Addresses ---

void OfiLink::publish(AddressWriter& writer) const {
  const std::string_view provider = fabric_->provider();
  const std::span<const std::byte> name = fabric_->name();
  const SectionHead head{host_tag_, static_cast<std::uint32_t>(fabric_->frame_size()),
                         static_cast<std::uint16_t>(provider.size()),
                         static_cast<std::uint16_t>(name.size())};
  std::vector<std::byte> section(sizeof head + provider.size() + name.size());
  std::memcpy(section.data(), &head, sizeof head);
  std::memcpy(section.data() + sizeof head, provider.data(), provider.size());
  std::memcpy(section.data() + sizeof head + provider.size(), name.data(), name.size());
  writer.add(options_.name, section);
}

void OfiLink::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

bool OfiLink::reach(const Address& peer, std::string& why_not) {
  const auto refuse = [&](std::string why) {
    why_not = std::move(why);
    return false;
  };
  const std::span<const std::byte> bytes = peer.section(options_.name);
  if (bytes.empty()) return refuse("the peer has no such link");
  const std::optional<Section> section = parse_section(bytes);
  if (!section) return refuse("the peer's address is malformed");
  if (section->provider != fabric_->provider())
    return refuse("the peer uses provider " + std::string(section->provider) + ", we use " +
                  std::string(fabric_->provider()));
  if (section->head.frame_size < fabric_->frame_size())
    return refuse("the peer takes frames of " + std::to_string(section->head.frame_size) +
                  " bytes, ours have " + std::to_string(fabric_->frame_size()));
  if (fabric_->traits().host_only && section->head.host != host_tag_)
    return refuse(std::string(fabric_->provider()) + " stays on its host");
  if (!fabric_->local()) return true;
  sockaddr_storage where{};
  if (section->address.size() > sizeof where) return refuse("the peer's address is malformed");
  std::memcpy(&where, section->address.data(), section->address.size());
  const auto ip = IpAddress::from(reinterpret_cast<const sockaddr*>(&where));
  if (!ip) return refuse("the peer's address is not an IP address");
  return can_reach(*fabric_->local(), *ip, section->head.host, why_not);
}

bool OfiLink::find_address(std::string_view raw, fi_addr_t& out, std::string& why_not) {
  const auto known = addresses_.find(std::string(raw));
  if (known != addresses_.end()) {
    out = known->second;
    return true;
  }
  const int inserted = fi_av_insert(fabric_->av(), raw.data(), 1, &out, 0, nullptr);
  if (inserted != 1) {
    why_not = std::string("fi_av_insert: ") + fi_strerror(inserted < 0 ? -inserted : FI_EINVAL);
    return false;
  }
  addresses_.emplace(raw, out);
  return true;
}

// --- Connections ---

OfiLink::Channel* OfiLink::make_channel(PeerId peer, const Address& address, std::string& why_not) {
  const std::optional<Section> section = parse_section(address.section(options_.name));
  // Names that are text differ in length (shm: the process and a number).
  const bool text = fabric_->info().addr_format == FI_ADDR_STR;
  if (!section || section->provider != fabric_->provider() || section->address.empty() ||
      (text ? section->address.back() != std::byte{0}
            : section->address.size() != fabric_->name().size())) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  const std::string_view raw{reinterpret_cast<const char*>(section->address.data()),
                             section->address.size()};
  auto channel = std::make_unique<Channel>();
  if (!find_address(raw, channel->address, why_not)) return nullptr;
  channel->key = address.identity().tag;
  channel->target = address.identity();
  channel->slot = static_cast<std::uint32_t>(channels_.size());
  channel->peer = peer;
  channel->raw_address = raw;
  channel->repeat_after =
      identity_.name.packed() < address.identity().name.packed() ? kFirstRepeat : kOtherFirstRepeat;
  channel->quiet_since = Clock::now();
  if (peer >= by_peer_.size()) by_peer_.resize(peer + 1, nullptr);
  by_peer_[peer] = channel.get();
  return channels_.emplace_back(std::move(channel)).get();
}

bool OfiLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  using State = Channel::State;
  if (const Channel* channel = channel_of(peer)) {
    if (channel->state == State::greeting || channel->state == State::open) return true;
    if (channel->state != State::closed) {
      why_not = "the connection to the peer is broken";
      return false;
    }
  }
  Channel* channel = make_channel(peer, address, why_not);
  if (channel == nullptr) return false;
  attend(*channel);
  return true;
}

void OfiLink::close(PeerId peer) noexcept {
  using State = Channel::State;
  Channel* channel = channel_of(peer);
  if (channel == nullptr) return;
  by_peer_[peer] = nullptr;
  const bool tell =
      channel->state == State::open || (channel->state == State::greeting && channel->greeted);
  channel->state = tell ? State::closing : State::closed;
  channel->next_try = {};
  channel->quiet_since = Clock::now();
  channel->probe.stop();
  if (tell) {
    attend(*channel);
  } else {
    drop_held(*channel);
  }
  transfers_.fail_channel(channel->slot);
}

namespace {

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

}  // namespace

void OfiLink::on_hello(std::span<const std::byte> payload) {
  using State = Channel::State;
  const std::optional<Address> from = believe(identity_, name(), payload);
  if (!from) return counters_.add(Counter::frames_dropped);
  const auto said = load_pod<Handshake>(payload.data());
  const auto heard = std::find_if(channels_.begin(), channels_.end(), [&](const auto& each) {
    return each->peer_nonce == said.head.nonce;
  });
  Channel* channel = heard == channels_.end() ? nullptr : heard->get();
  if (channel != nullptr) {
    // A hello is repeated until it is answered; that of a channel that has ended was recorded by somebody.
    if (channel->state != State::open) return counters_.add(Counter::frames_dropped);
  } else {
    const PeerId peer = sink_.on_connect(*this, *from);
    if (peer == kNoPeer) return counters_.add(Counter::frames_dropped);
    channel = channel_of(peer);
    if (channel == nullptr || channel->state == State::closed) {
      std::string why_not;
      channel = make_channel(peer, *from, why_not);
      if (channel == nullptr) return counters_.add(Counter::frames_dropped);
    } else if (channel->state == State::open) {
      return break_channel(*channel, "the peer opened a second connection");
    } else if (channel->state != State::greeting) {  // else the hellos crossed
      return;
    }
    channel->state = State::open;
    channel->remote_slot = said.slot;
    channel->peer_nonce = said.head.nonce;
  }
  channel->answer_due = true;
  channel->next_try = {};
  attend(*channel);
}

void OfiLink::on_hello_ack(Channel& channel, std::span<const std::byte> payload) noexcept {
  using State = Channel::State;
  if (payload.size() != sizeof(Handshake)) return counters_.add(Counter::frames_dropped);
  const auto said = load_pod<Handshake>(payload.data());
  const bool proven =
      channel.nonce && said.head.proof == ack_proof(channel.target, name(), channel.nonce);
  if (!proven) return counters_.add(Counter::frames_dropped);
  if (channel.state != State::greeting && channel.state != State::closing) return;
  channel.remote_slot = said.slot;
  channel.next_try = {};
  if (channel.state == State::greeting) channel.state = State::open;
}

// --- Attention ---

namespace {

// Of the payload behind its head, all of which the proof is about.
std::vector<std::byte> proven_part(const Handshake& said, std::span<const std::byte> address) {
  std::vector<std::byte> bytes(sizeof said - sizeof said.head);
  std::memcpy(bytes.data(), &said.slot, bytes.size());
  bytes.insert(bytes.end(), address.begin(), address.end());
  return bytes;
}

}  // namespace

OfiLink::Sent OfiLink::send_handshake(Channel& channel, FrameType type,
                                      std::uint32_t sequence) noexcept {
  SendBuffer* buffer = sends_.take(false);
  if (buffer == nullptr) return Sent::no_room;
  buffer->handshake = true;
  Handshake said{.head = {}, .slot = channel.slot, .reserved = 0};
  if (type == FrameType::hello) {
    if (!channel.nonce) channel.nonce = random_key();
    said.head.nonce = channel.nonce;
    said.head.proof =
        hello_proof(channel.target, name(), channel.nonce, proven_part(said, own_address_));
  } else if (type == FrameType::hello_ack) {
    said.head.proof = ack_proof(identity_, name(), channel.peer_nonce);
  }
  const Slice slices[] = {{&said, sizeof said}, {own_address_.data(), own_address_.size()}};
  const int count = type == FrameType::hello ? 2 : type == FrameType::hello_ack ? 1 : 0;
  std::size_t payload = 0;
  for (int i = 0; i < count; ++i) payload += slices[i].size;
  buffer->size = fill(buffer->data, channel, sequence, {type}, slices, count, payload);
  const ssize_t result = launch(channel, *buffer);
  if (result == 0) return Sent::yes;
  sends_.give_back(*buffer);
  if (result == -FI_EAGAIN) return Sent::no_room;
  channel.failure = fi_strerror(static_cast<int>(-result));
  return Sent::failed;
}

void OfiLink::repeat_handshake(Channel& channel) noexcept {
  if (channel.state == Channel::State::open) channel.answer_due = true;
  channel.next_try = Clock::now() + kLongestPause;
  attend(channel);
}

void OfiLink::attend(Channel& channel) noexcept {
  if (std::exchange(channel.pending, true)) return;
  pending_.push_back(&channel);
}

void OfiLink::attend_pending() noexcept {
  const Clock::time_point now = Clock::now();
  attending_.swap(pending_);
  for (Channel* channel : attending_) {
    channel->pending = false;
    if (attend_to(*channel, now)) attend(*channel);
  }
  attending_.clear();
}

bool OfiLink::attend_to(Channel& channel, Clock::time_point now) noexcept {
  using State = Channel::State;
  if (channel.state == State::failing) break_channel(channel, channel.failure);
  if (channel.state == State::broken || channel.state == State::closed) return false;

  if (!channel.held.empty() && !send_held(channel)) return false;
  const bool knows_slot = channel.remote_slot != Channel::kUnknown;
  const bool closing = channel.state == State::closing;
  const bool frame_due =
      channel.state == State::greeting || channel.answer_due || (closing && knows_slot);
  if (frame_due && now >= channel.next_try) {
    const FrameType type = closing                            ? FrameType::goodbye
                           : channel.state == State::greeting ? FrameType::hello
                                                              : FrameType::hello_ack;
    switch (send_handshake(channel, type, closing ? channel.next_send : 0)) {
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
      case Sent::failed: break_channel(channel, channel.failure); return false;
    }
  }
  if (closing && now - channel.quiet_since > kGiveUpClosing) {
    channel.state = State::closed;
    drop_held(channel);
    return false;
  }
  const bool gap = !channel.early.empty() && !closing;
  if (gap && now - channel.gap_since > kGiveUpGap) {
    break_channel(channel, "frame " + std::to_string(channel.next_receive) + " was lost");
    return false;
  }
  const bool unreachable =
      channel.state == State::greeting || channel.answer_due || channel.stalled;
  if (unreachable && !closing) watch(channel, now);
  return closing || ((unreachable || gap) && channel.state != State::broken);
}

void OfiLink::watch(Channel& channel, Clock::time_point now) {
  if (!fabric_->traits().listens_tcp || now - channel.quiet_since < kProbeAfter) return;
  channel.probe.start(std::as_bytes(std::span(channel.raw_address)));
  std::string why;
  switch (channel.probe.poll(why)) {
    case PeerProbe::Answer::none: break;
    case PeerProbe::Answer::alive: channel.quiet_since = now; break;
    case PeerProbe::Answer::dead: break_channel(channel, why); break;
  }
}

}  // namespace lfc
