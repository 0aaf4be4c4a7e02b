#include "link/ofi/ofi_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "link/ofi/ofi_link_impl.hpp"

namespace lfc {
namespace {

constexpr int kBatch = 16;
constexpr int kBatchesPerPoll = 4;
constexpr std::size_t kLargestInject = 256;
// Further ahead no frame can be: it is damaged, or the provider lost very many.
constexpr std::uint32_t kMostEarly = 4096;

constexpr std::size_t padded(std::size_t size) noexcept { return round_up(size, 8); }

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
    : Link({.name = options.name}),
      options_(options),
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
  traits_.remote_memory = options_.remote_memory && fabric_->has(FI_RMA) &&
                          fabric_->info().domain_attr->mr_key_size <= sizeof(LinkRegion::key) &&
                          transfers_.open(*fabric_, options_.put_proof, why);
  traits_.one_sided = traits_.remote_memory;
  traits_.registration_costs =
      traits_.remote_memory && fabric_->needs(FI_MR_LOCAL | FI_MR_ALLOCATED);
  return true;
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
  if (decode_header(frame, identity_.tag, header) != HeaderFault::none)
    return counters_.add(Counter::frames_dropped);
  const std::span<const std::byte> payload = frame.subspan(sizeof header);
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::hello) return on_hello(payload);
  if (header.source >= channels_.size()) return counters_.add(Counter::frames_dropped);
  Channel& channel = *channels_[header.source];
  if (type == FrameType::hello_ack) return on_hello_ack(channel, payload);
  if (channel.state != State::open && channel.state != State::greeting) return;  // too late
  if (header.sequence != channel.next_receive) [[unlikely]]
    return keep(channel, header.sequence, frame);
  accept(channel, frame);
  while (!channel.early.empty()) {
    const auto next = channel.early.extract(channel.next_receive);
    if (next.empty()) break;
    channel.gap_since = Clock::now();
    accept(channel, next.mapped());
  }
}

void OfiLink::accept(Channel& channel, std::span<const std::byte> frame) noexcept {
  using State = Channel::State;
  const auto header = load_pod<Header>(frame.data());
  ++channel.next_receive;
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::goodbye) {
    channel.state = State::closed;
    drop_held(channel);
    return transfers_.fail_channel(channel.slot);
  }
  if (channel.state != State::open && channel.state != State::greeting) return;
  sink_.on_frame(channel.peer, {type, header.tag, header.credits}, frame.subspan(sizeof header));
}

void OfiLink::keep(Channel& channel, std::uint32_t sequence,
                   std::span<const std::byte> frame) noexcept {
  const std::uint32_t ahead = sequence - channel.next_receive;
  if (fabric_->traits().in_order || ahead > kMostEarly)
    return break_channel(channel, "frames were lost: expected number " +
                                      std::to_string(channel.next_receive) + ", got " +
                                      std::to_string(sequence));
  if (channel.early.empty()) channel.gap_since = Clock::now();
  channel.early.try_emplace(sequence, frame.begin(), frame.end());
  attend(channel);
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
      repeat_handshake(channel);
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

bool OfiLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  return !traits_.remote_memory || transfers_.register_memory(data, size, out);
}

void OfiLink::deregister_memory(LinkRegion& region) noexcept {
  if (traits_.remote_memory) transfers_.deregister_memory(region);
}

Link::Start OfiLink::transfer(bool put, PeerId peer, std::byte* local,
                              const LinkRegion& local_region, std::uint64_t address,
                              const LinkRegion& remote_region, std::size_t size,
                              Operation* operation) noexcept {
  using State = Channel::State;
  const Channel* channel = channel_of(peer);
  if (!traits_.remote_memory || channel == nullptr) return Start::failed;
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
