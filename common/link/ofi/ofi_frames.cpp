#include "link/ofi/ofi_frames.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace lfc {
namespace {

constexpr std::size_t kLargestInject = 256;
// A frame that is further ahead is damaged, or the provider lost very many.
constexpr std::uint32_t kMostEarly = 4096;

constexpr std::size_t padded(std::size_t size) noexcept { return round_up(size, 8); }

}  // namespace

OfiFrames::OfiFrames(OfiShared& shared, OfiConnections& connections) noexcept
    : shared_(shared),
      connections_(connections),
      inject_size_(std::min(shared.fabric->info().tx_attr->inject_size, kLargestInject)) {}

// --- Sending ---

std::size_t OfiFrames::fill(std::byte* out, const OfiConnection& connection, std::uint32_t sequence,
                            Meta meta, const Slice* slices, int count,
                            std::size_t payload) noexcept {
  Header header;
  encode_header(header, connection.key,
                meta.type == FrameType::hello ? kNoPeer : connection.remote_slot, sequence, meta,
                static_cast<std::uint32_t>(payload));
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
  OfiConnection* connection = connections_.of(peer);
  if (connection == nullptr) return SendStatus::broken;
  if (connection->state != State::open || connection->ack_due) [[unlikely]]
    return connection->state == State::handshake || connection->state == State::open
               ? SendStatus::again
               : SendStatus::broken;
  std::size_t payload = 0;
  for (int i = 0; i < count; ++i) payload += slices[i].size;

  const bool data = is_data(meta.type);
  if (!connection->held.empty())
    return data ? SendStatus::again : hold(*connection, meta, slices, count, payload);

  ssize_t result = 0;
  if (padded(sizeof(Header) + payload) <= inject_size_) {
    alignas(8) std::byte frame[kLargestInject];
    const std::size_t size =
        fill(frame, *connection, connection->next_send, meta, slices, count, payload);
    result = fi_inject(shared_.fabric->ep(), frame, size, connection->address);
  } else {
    SendBuffer* buffer = shared_.sends.take(data);
    if (buffer == nullptr) return SendStatus::again;
    buffer->handshake = false;
    buffer->size =
        fill(buffer->data, *connection, connection->next_send, meta, slices, count, payload);
    result = launch(*connection, *buffer);
    if (result != 0) shared_.sends.give_back(*buffer);
  }
  if (result == 0) [[likely]] {
    ++connection->next_send;
    connection->stalled = false;
    return SendStatus::sent;
  }
  if (result != -FI_EAGAIN) {
    connections_.fail(*connection, fi_strerror(static_cast<int>(-result)));
    return SendStatus::broken;
  }
  if (!connection->stalled) {
    connection->stalled = true;
    connection->quiet_since = shared_.present.now();
    connections_.add_pending(*connection);
  }
  return data ? SendStatus::again : hold(*connection, meta, slices, count, payload);
}

ssize_t OfiFrames::launch(const OfiConnection& connection, SendBuffer& buffer) noexcept {
  buffer.slot = connection.slot;
  return fi_send(shared_.fabric->ep(), buffer.data, buffer.size, shared_.sends.descriptor(),
                 connection.address, &buffer);
}

// Control frames must leave even when the provider is full of data. Later control frames queue up behind them, and data
// frames wait.
SendStatus OfiFrames::hold(OfiConnection& connection, Meta meta, const Slice* slices, int count,
                           std::size_t payload) noexcept {
  SendBuffer* buffer = shared_.sends.take(false);
  if (buffer == nullptr) return SendStatus::again;
  buffer->handshake = false;
  buffer->size =
      fill(buffer->data, connection, connection.next_send++, meta, slices, count, payload);
  connection.held.push_back(buffer);
  return SendStatus::sent;
}

bool OfiFrames::send_held(OfiConnection& connection) noexcept {
  std::size_t launched = 0;
  ssize_t result = 0;
  while (launched < connection.held.size()) {
    result = launch(connection, *connection.held[launched]);
    if (result != 0) break;
    ++launched;
  }
  connection.held.erase(connection.held.begin(),
                        connection.held.begin() + static_cast<std::ptrdiff_t>(launched));
  if (launched != 0) connection.stalled = !connection.held.empty();
  if (result == 0 || result == -FI_EAGAIN) return true;
  connections_.break_off(connection, fi_strerror(static_cast<int>(-result)));
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

void OfiFrames::arrived(OfiConnection& connection, std::uint32_t sequence,
                        std::span<const std::byte> frame) noexcept {
  if (connection.state != State::open && connection.state != State::handshake) return;  // too late
  if (sequence != connection.next_receive) [[unlikely]]
    return keep(connection, sequence, frame);
  accept(connection, frame);
  while (!connection.early.empty()) {
    const auto next = connection.early.extract(connection.next_receive);
    if (next.empty()) break;
    connection.gap_since = shared_.present.now();
    accept(connection, next.mapped());
  }
}

void OfiFrames::accept(OfiConnection& connection, std::span<const std::byte> frame) noexcept {
  const auto header = load_pod<Header>(frame.data());
  ++connection.next_receive;
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::goodbye) {
    connection.state = State::closed;
    connections_.drop_held(connection);
    return shared_.transfers.fail_connection(connection.slot);
  }
  if (connection.state != State::open && connection.state != State::handshake) return;
  shared_.sink.on_frame(connection.peer, {type, header.tag, header.credits},
                        frame.subspan(sizeof header));
}

void OfiFrames::keep(OfiConnection& connection, std::uint32_t sequence,
                     std::span<const std::byte> frame) noexcept {
  const std::uint32_t ahead = sequence - connection.next_receive;
  if (shared_.fabric->traits().in_order || ahead > kMostEarly)
    return connections_.break_off(connection, "frames were lost: expected number " +
                                                  std::to_string(connection.next_receive) +
                                                  ", got " + std::to_string(sequence));
  if (connection.early.empty()) connection.gap_since = shared_.present.now();
  connection.early.try_emplace(sequence, frame.begin(), frame.end());
  connections_.add_pending(connection);
}

}  // namespace lfc
