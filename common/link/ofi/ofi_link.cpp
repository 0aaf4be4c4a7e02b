#include "link/ofi/ofi_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "link/ofi/ofi_link_impl.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

constexpr int kBatch = 16;
constexpr int kBatchesPerPoll = 4;
constexpr std::size_t kLargestInject = 256;

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

struct HelloHead {
  std::uint32_t slot;  // under which the sender of the hello knows the receiver
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

constexpr std::size_t padded(std::size_t size) noexcept { return (size + 7) & ~std::size_t{7}; }

// A frame as it arrived, without the padding behind it.
std::span<const std::byte> without_padding(std::span<const std::byte> frame) noexcept {
  if (frame.size() < sizeof(Header)) return frame;
  std::uint32_t length = 0;
  std::memcpy(&length, frame.data() + offsetof(Header, length), sizeof length);
  const std::size_t size = sizeof(Header) + length;
  return size <= frame.size() && padded(size) == frame.size() ? frame.first(size) : frame;
}

}  // namespace

std::unique_ptr<Link> make_ofi_link(const OfiOptions& options, const Identity& identity,
                                    FrameSink& sink, Counters& counters, std::string& why_not) {
  std::unique_ptr<OfiFabric> fabric = OfiFabric::open(options, why_not);
  if (!fabric) return nullptr;
  auto link = std::make_unique<OfiLink>(options, identity, sink, counters, std::move(fabric));
  if (!link->open(why_not)) return nullptr;
  return link;
}

OfiLink::OfiLink(const OfiOptions& options, const Identity& identity, FrameSink& sink,
                 Counters& counters, std::unique_ptr<OfiFabric> fabric)
    : options_(options),
      identity_(identity),
      sink_(sink),
      counters_(counters),
      fabric_(std::move(fabric)),
      host_tag_(host_tag()),
      inject_size_(std::min(fabric_->info().tx_attr->inject_size, kLargestInject)) {}

bool OfiLink::open(std::string& why_not) {
  std::string why;
  const bool ok = sends_.open(*fabric_, options_.send_frames, why) &&
                  receives_.open(*fabric_, options_.receive_frames, why);
  if (!ok) {
    why_not = std::string(fabric_->provider()) + ": " + why;
    return false;
  }
  // Without remote memory the NI carries puts and gets in frames.
  remote_memory_ = options_.remote_memory && fabric_->has(FI_RMA) &&
                   fabric_->info().domain_attr->mr_key_size <= sizeof(LinkRegion::key) &&
                   transfers_.open(*fabric_, options_.put_proof, why);
  return true;
}

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
  if (!section || section->provider != fabric_->provider() ||
      section->address.size() != fabric_->name().size()) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  const std::string_view raw{reinterpret_cast<const char*>(section->address.data()),
                             section->address.size()};
  auto channel = std::make_unique<Channel>();
  if (!find_address(raw, channel->address, why_not)) return nullptr;
  channel->key = address.identity().key;
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

void OfiLink::on_hello(std::span<const std::byte> payload) {
  using State = Channel::State;
  HelloHead head{};
  std::optional<Address> from;
  if (payload.size() > sizeof head) {
    std::memcpy(&head, payload.data(), sizeof head);
    from = Address::parse(payload.subspan(sizeof head));
  }
  const PeerId peer = from ? sink_.on_connect(*this, *from) : kNoPeer;
  if (peer == kNoPeer) return counters_.add(Counter::frames_dropped);

  Channel* channel = channel_of(peer);
  if (channel == nullptr || channel->state == State::closed) {
    std::string why_not;
    channel = make_channel(peer, *from, why_not);
    if (channel == nullptr) return counters_.add(Counter::frames_dropped);
    channel->state = State::open;
    channel->remote_slot = head.slot;
  } else if (channel->state == State::greeting) {  // the hellos crossed
    channel->state = State::open;
    channel->remote_slot = head.slot;
  } else if (channel->state != State::open) {
    return;
  } else if (channel->remote_slot != head.slot) {
    return break_channel(*channel, "the peer opened a second connection");
  }
  channel->answer_due = true;
  channel->next_try = {};
  attend(*channel);
}

void OfiLink::on_hello_ack(Channel& channel, std::span<const std::byte> payload) noexcept {
  using State = Channel::State;
  HelloHead head{};
  if (payload.size() != sizeof head) return counters_.add(Counter::frames_dropped);
  std::memcpy(&head, payload.data(), sizeof head);
  if (channel.state != State::greeting && channel.state != State::closing) return;
  channel.remote_slot = head.slot;
  channel.next_try = {};
  if (channel.state == State::greeting) channel.state = State::open;
}

// --- Sending ---

std::size_t OfiLink::fill(std::byte* out, const Channel& channel, std::uint32_t sequence, Meta meta,
                          const Slice* slices, int count, std::size_t payload) noexcept {
  Header header;
  encode_header(header, channel.key, meta.type == FrameType::hello ? kNoPeer : channel.remote_slot,
                sequence, meta, static_cast<std::uint32_t>(payload));
  std::memcpy(out, &header, sizeof header);
  std::byte* at = out + sizeof header;
  for (int i = 0; i < count; ++i) {
    if (slices[i].size != 0) std::memcpy(at, slices[i].data, slices[i].size);
    at += slices[i].size;
  }
  const std::size_t size = padded(sizeof header + payload);
  std::memset(at, 0, size - sizeof header - payload);
  return size;
}

SendStatus OfiLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  using State = Channel::State;
  Channel* channel = channel_of(peer);
  if (channel == nullptr) return SendStatus::broken;
  if (channel->state != State::open || channel->answer_due) [[unlikely]]
    return channel->state == State::greeting || channel->state == State::open ? SendStatus::again
                                                                              : SendStatus::broken;
  std::size_t payload = 0;
  for (int i = 0; i < count; ++i) payload += slices[i].size;

  const bool data = is_data(meta.type);
  if (!channel->held.empty())
    return data ? SendStatus::again : hold(*channel, meta, slices, count, payload);

  ssize_t result = 0;
  if (padded(sizeof(Header) + payload) <= inject_size_) {
    alignas(8) std::byte frame[kLargestInject];
    const std::size_t size =
        fill(frame, *channel, channel->next_send, meta, slices, count, payload);
    result = fi_inject(fabric_->ep(), frame, size, channel->address);
  } else {
    SendBuffer* buffer = sends_.take(data);
    if (buffer == nullptr) return SendStatus::again;
    buffer->handshake = false;
    buffer->size = fill(buffer->data, *channel, channel->next_send, meta, slices, count, payload);
    result = launch(*channel, *buffer);
    if (result != 0) sends_.give_back(*buffer);
  }
  if (result == 0) [[likely]] {
    ++channel->next_send;
    channel->stalled = false;
    return SendStatus::sent;
  }
  if (result != -FI_EAGAIN) {
    fail(*channel, fi_strerror(static_cast<int>(-result)));
    return SendStatus::broken;
  }
  if (!channel->stalled) {
    channel->stalled = true;
    channel->quiet_since = Clock::now();
    attend(*channel);
  }
  return data ? SendStatus::again : hold(*channel, meta, slices, count, payload);
}

ssize_t OfiLink::launch(const Channel& channel, SendBuffer& buffer) noexcept {
  buffer.slot = channel.slot;
  return fi_send(fabric_->ep(), buffer.data, buffer.size, sends_.descriptor(), channel.address,
                 &buffer);
}

// Control frames must leave even when the provider is full of data; those that follow queue up
// behind them, data frames wait.
SendStatus OfiLink::hold(Channel& channel, Meta meta, const Slice* slices, int count,
                         std::size_t payload) noexcept {
  SendBuffer* buffer = sends_.take(false);
  if (buffer == nullptr) return SendStatus::again;
  buffer->handshake = false;
  buffer->size = fill(buffer->data, channel, channel.next_send++, meta, slices, count, payload);
  channel.held.push_back(buffer);
  return SendStatus::sent;
}

bool OfiLink::send_held(Channel& channel) noexcept {
  std::size_t launched = 0;
  ssize_t result = 0;
  while (launched < channel.held.size()) {
    result = launch(channel, *channel.held[launched]);
    if (result != 0) break;
    ++launched;
  }
  channel.held.erase(channel.held.begin(),
                     channel.held.begin() + static_cast<std::ptrdiff_t>(launched));
  if (launched != 0) channel.stalled = !channel.held.empty();
  if (result == 0 || result == -FI_EAGAIN) return true;
  break_channel(channel, fi_strerror(static_cast<int>(-result)));
  return false;
}

void OfiLink::drop_held(Channel& channel) noexcept {
  for (SendBuffer* buffer : channel.held) sends_.give_back(*buffer);
  channel.held.clear();
}

OfiLink::Sent OfiLink::send_handshake(Channel& channel, FrameType type,
                                      std::uint32_t sequence) noexcept {
  SendBuffer* buffer = sends_.take(false);
  if (buffer == nullptr) return Sent::no_room;
  buffer->handshake = true;
  const HelloHead head{channel.slot, 0};
  const Slice slices[] = {{&head, sizeof head}, {own_address_.data(), own_address_.size()}};
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

// --- Receiving ---

int OfiLink::poll() noexcept {
  int events = 0;
  std::array<fi_cq_data_entry, kBatch> entries;
  for (int batch = 0; batch < kBatchesPerPoll; ++batch) {
    const ssize_t count = fi_cq_read(fabric_->cq(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) break;
    if (count == -FI_EAVAIL) {
      ++events;
      on_error();
      continue;
    }
    if (count < 0) {
      break_all(fi_strerror(static_cast<int>(-count)));
      break;
    }
    for (ssize_t i = 0; i < count; ++i) on_completion(entries[static_cast<std::size_t>(i)]);
    events += static_cast<int>(count);
    int error = 0;
    if (!receives_.all_posted() && !receives_.post_free(error)) break_all(fi_strerror(-error));
    if (count < kBatch) break;
  }
  if (!pending_.empty()) attend_pending();
  transfers_.retry();
  return events;
}

void OfiLink::on_completion(const fi_cq_data_entry& entry) noexcept {
  if (entry.op_context == nullptr) return;
  OfiContext& context = *static_cast<OfiContext*>(entry.op_context);
  switch (context.kind) {
    case OfiContext::Kind::receive: {
      auto& buffer = static_cast<ReceiveBuffer&>(context);
      const bool multiple = receives_.multiple();
      const auto* data = multiple ? static_cast<const std::byte*>(entry.buf) : buffer.data;
      if ((entry.flags & FI_RECV) != 0) on_frame({data, entry.len});
      if (!multiple || (entry.flags & FI_MULTI_RECV) != 0) receives_.give_back(buffer);
      break;
    }
    case OfiContext::Kind::send: sends_.give_back(static_cast<SendBuffer&>(context)); break;
    case OfiContext::Kind::transfer: transfers_.completed(static_cast<Transfer&>(context)); break;
  }
}

void OfiLink::on_frame(std::span<const std::byte> bytes) noexcept {
  using State = Channel::State;
  const std::span<const std::byte> frame = without_padding(bytes);
  Header header;
  if (decode_header(frame, identity_.key, header) != HeaderFault::none)
    return counters_.add(Counter::frames_dropped);
  const std::span<const std::byte> payload = frame.subspan(sizeof header);
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::hello) return on_hello(payload);
  if (header.source >= channels_.size()) return counters_.add(Counter::frames_dropped);
  Channel& channel = *channels_[header.source];
  if (type == FrameType::hello_ack) return on_hello_ack(channel, payload);
  if (channel.state != State::open && channel.state != State::greeting) return;  // too late
  if (header.sequence != channel.next_receive)
    return break_channel(channel, "frames were lost: expected number " +
                                      std::to_string(channel.next_receive) + ", got " +
                                      std::to_string(header.sequence));
  ++channel.next_receive;
  if (type == FrameType::goodbye) {
    channel.state = State::closed;
    drop_held(channel);
    return transfers_.fail_channel(channel.slot);
  }
  sink_.on_frame(channel.peer, {type, header.tag, header.credits}, payload);
}

// --- Trouble ---

void OfiLink::on_error() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(fabric_->cq(), &entry, 0) < 0 || entry.op_context == nullptr) return;
  const char* why = fi_strerror(entry.err);
  OfiContext& context = *static_cast<OfiContext*>(entry.op_context);
  switch (context.kind) {
    case OfiContext::Kind::receive:
      // A peer died in the middle of a frame; who, the provider does not say.
      if (!receives_.multiple() || (entry.flags & FI_MULTI_RECV) != 0)
        receives_.give_back(static_cast<ReceiveBuffer&>(context));
      break;
    case OfiContext::Kind::send: {
      auto& buffer = static_cast<SendBuffer&>(context);
      Channel& channel = *channels_[buffer.slot];
      const bool again =
          buffer.handshake && channel.next_send == 1 && fabric_->traits().listens_tcp;
      sends_.give_back(buffer);
      if (!again) return break_channel(channel, why);
      if (channel.state == Channel::State::open) channel.answer_due = true;
      channel.next_try = Clock::now() + kLongestPause;
      attend(channel);
      break;
    }
    case OfiContext::Kind::transfer: {
      auto& transfer = static_cast<Transfer&>(context);
      Channel& channel = *channels_[transfer.slot];
      const bool refused = entry.err == FI_EACCES || entry.err == FI_EFAULT ||
                           entry.err == FI_EINVAL || entry.err == FI_EKEYREJECTED;
      transfers_.failed(transfer, refused ? Result::bad_address : Result::unreachable);
      if (!refused) break_channel(channel, why);
      break;
    }
  }
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
  const bool unreachable =
      channel.state == State::greeting || channel.answer_due || channel.stalled;
  if (unreachable && !closing) watch(channel, now);
  return closing || (unreachable && channel.state != State::broken);
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

void OfiLink::fail(Channel& channel, std::string why) noexcept {
  channel.state = Channel::State::failing;
  channel.failure = std::move(why);
  attend(channel);
}

void OfiLink::break_channel(Channel& channel, std::string_view why) noexcept {
  using State = Channel::State;
  const State before = std::exchange(channel.state, State::broken);
  channel.probe.stop();
  drop_held(channel);
  if (before == State::closed || before == State::closing) channel.state = State::closed;
  if (channel.state == State::closed || before == State::broken) return;
  transfers_.fail_channel(channel.slot);
  const std::string text = std::string(fabric_->provider()) + ": " + std::string(why);
  sink_.on_broken(channel.peer, *this, text);
}

void OfiLink::break_all(std::string_view why) noexcept {
  for (std::size_t slot = 0; slot < channels_.size(); ++slot) break_channel(*channels_[slot], why);
}

bool OfiLink::drained() const noexcept {
  const auto leaving = [](const Channel* channel) {
    return channel->answer_due ||
           (channel->state == Channel::State::closing && channel->remote_slot != Channel::kUnknown);
  };
  return sends_.idle() && std::none_of(pending_.begin(), pending_.end(), leaving);
}

// --- Remote memory ---

bool OfiLink::remote_memory(PeerId) const noexcept { return remote_memory_; }

bool OfiLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  return !remote_memory_ || transfers_.register_memory(data, size, out);
}

void OfiLink::deregister_memory(LinkRegion& region) noexcept {
  if (remote_memory_) transfers_.deregister_memory(region);
}

Link::Start OfiLink::transfer(bool put, PeerId peer, std::byte* local,
                              const LinkRegion& local_region, std::uint64_t address,
                              const LinkRegion& remote_region, std::size_t size,
                              Operation* operation) noexcept {
  using State = Channel::State;
  const Channel* channel = channel_of(peer);
  if (!remote_memory_ || channel == nullptr) return Start::failed;
  if (channel->state == State::greeting) return Start::again;
  if (channel->state != State::open) return Start::failed;
  return transfers_.start(
      {put, channel->slot, channel->address, local, local_region, address, remote_region, size},
      operation);
}

Link::Start OfiLink::put(PeerId peer, const void* source, const LinkRegion& local,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return transfer(true, peer, bytes, local, remote_address, remote, size, operation);
}

Link::Start OfiLink::get(PeerId peer, void* destination, const LinkRegion& local,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  return transfer(false, peer, static_cast<std::byte*>(destination), local, remote_address, remote,
                  size, operation);
}

}  // namespace lfc
