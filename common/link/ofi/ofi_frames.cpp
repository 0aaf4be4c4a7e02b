#include "link/ofi/ofi_frames.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace lfc {
namespace {

constexpr std::size_t kLargestInject = 256;
// Further ahead no frame can be: it is damaged, or the provider lost very many.
constexpr std::uint32_t kMostEarly = 4096;

constexpr std::size_t padded(std::size_t size) noexcept { return round_up(size, 8); }

}  // namespace

OfiFrames::OfiFrames(OfiShared& shared, OfiChannels& channels) noexcept
    : shared_(shared),
      channels_(channels),
      inject_size_(std::min(shared.fabric->info().tx_attr->inject_size, kLargestInject)) {}

// --- Sending ---

std::size_t OfiFrames::fill(std::byte* out, const OfiChannel& channel, std::uint32_t sequence,
                            Meta meta, const Slice* slices, int count,
                            std::size_t payload) noexcept {
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

SendStatus OfiFrames::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  OfiChannel* channel = channels_.of(peer);
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
    result = fi_inject(shared_.fabric->ep(), frame, size, channel->address);
  } else {
    SendBuffer* buffer = shared_.sends.take(data);
    if (buffer == nullptr) return SendStatus::again;
    buffer->handshake = false;
    buffer->size = fill(buffer->data, *channel, channel->next_send, meta, slices, count, payload);
    result = launch(*channel, *buffer);
    if (result != 0) shared_.sends.give_back(*buffer);
  }
  if (result == 0) [[likely]] {
    ++channel->next_send;
    channel->stalled = false;
    return SendStatus::sent;
  }
  if (result != -FI_EAGAIN) {
    channels_.fail(*channel, fi_strerror(static_cast<int>(-result)));
    return SendStatus::broken;
  }
  if (!channel->stalled) {
    channel->stalled = true;
    channel->quiet_since = Clock::now();
    channels_.attend(*channel);
  }
  return data ? SendStatus::again : hold(*channel, meta, slices, count, payload);
}

ssize_t OfiFrames::launch(const OfiChannel& channel, SendBuffer& buffer) noexcept {
  buffer.slot = channel.slot;
  return fi_send(shared_.fabric->ep(), buffer.data, buffer.size, shared_.sends.descriptor(),
                 channel.address, &buffer);
}

// Control frames must leave even when the provider is full of data; those that follow queue up
// behind them, data frames wait.
SendStatus OfiFrames::hold(OfiChannel& channel, Meta meta, const Slice* slices, int count,
                           std::size_t payload) noexcept {
  SendBuffer* buffer = shared_.sends.take(false);
  if (buffer == nullptr) return SendStatus::again;
  buffer->handshake = false;
  buffer->size = fill(buffer->data, channel, channel.next_send++, meta, slices, count, payload);
  channel.held.push_back(buffer);
  return SendStatus::sent;
}

bool OfiFrames::send_held(OfiChannel& channel) noexcept {
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
  channels_.break_off(channel, fi_strerror(static_cast<int>(-result)));
  return false;
}

// --- Receiving ---

std::span<const std::byte> OfiFrames::without_padding(std::span<const std::byte> frame) noexcept {
  if (frame.size() < sizeof(Header)) return frame;
  std::uint32_t length = 0;
  std::memcpy(&length, frame.data() + offsetof(Header, length), sizeof length);
  const std::size_t size = sizeof(Header) + length;
  return size <= frame.size() && padded(size) == frame.size() ? frame.first(size) : frame;
}

void OfiFrames::arrived(OfiChannel& channel, std::uint32_t sequence,
                        std::span<const std::byte> frame) noexcept {
  if (channel.state != State::open && channel.state != State::greeting) return;  // too late
  if (sequence != channel.next_receive) [[unlikely]]
    return keep(channel, sequence, frame);
  accept(channel, frame);
  while (!channel.early.empty()) {
    const auto next = channel.early.extract(channel.next_receive);
    if (next.empty()) break;
    channel.gap_since = Clock::now();
    accept(channel, next.mapped());
  }
}

void OfiFrames::accept(OfiChannel& channel, std::span<const std::byte> frame) noexcept {
  const auto header = load_pod<Header>(frame.data());
  ++channel.next_receive;
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::goodbye) {
    channel.state = State::closed;
    channels_.drop_held(channel);
    return shared_.transfers.fail_channel(channel.slot);
  }
  if (channel.state != State::open && channel.state != State::greeting) return;
  shared_.sink.on_frame(channel.peer, {type, header.tag, header.credits},
                        frame.subspan(sizeof header));
}

void OfiFrames::keep(OfiChannel& channel, std::uint32_t sequence,
                     std::span<const std::byte> frame) noexcept {
  const std::uint32_t ahead = sequence - channel.next_receive;
  if (shared_.fabric->traits().in_order || ahead > kMostEarly)
    return channels_.break_off(channel, "frames were lost: expected number " +
                                            std::to_string(channel.next_receive) + ", got " +
                                            std::to_string(sequence));
  if (channel.early.empty()) channel.gap_since = Clock::now();
  channel.early.try_emplace(sequence, frame.begin(), frame.end());
  channels_.attend(channel);
}

}  // namespace lfc
