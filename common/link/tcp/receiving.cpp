#include "link/tcp/receiving.hpp"

#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace lfc::tcp {
namespace {

constexpr Kind kMessage = static_cast<Kind>(FrameType::message);
constexpr Kind kService = static_cast<Kind>(FrameType::service);
// Number of short reads without a placed frame after which reads are no longer kept short for placed frames.
constexpr std::uint8_t kExpected = 8;

bool is_bulk(Kind kind) noexcept { return kind == kPut || kind == kGetData; }

bool is_acceptable(const Prefix& prefix) noexcept {
  switch (prefix.kind) {
    case kGoodbye: return prefix.length == 0;
    case kGet: return prefix.length == sizeof(BulkHead);
    case kReply: return prefix.length == sizeof(Reply);
    case kPut:
    case kGetData:
      return prefix.length > sizeof(BulkHead) &&
             prefix.length <= sizeof(BulkHead) + limits::kTcpSegment;
    case kMessage: return prefix.length <= limits::kTcpMessage;
    case kService: return prefix.length <= limits::kTcpPlaced;
    default:
      return prefix.kind > kGoodbye && is_valid(static_cast<FrameType>(prefix.kind)) &&
             prefix.length <= limits::kTcpPayload;
  }
}

// Limits a read to a few bytes beyond the frame that has begun, if the next bytes may have a place of their own.
std::size_t read_limit(const Connection& connection) noexcept {
  if (!connection.bulk_expected && connection.placed_lately == 0) return Inbox::kNoLimit;
  const std::span<const std::byte> begun = connection.in.bytes();
  Prefix prefix;
  if (begun.size() < kPrefix) return limits::kTcpAhead;
  decode_prefix(load_pod<std::uint64_t>(begun.data()), connection.sequence, prefix);
  const std::size_t rest =
      is_bulk(prefix.kind) ? 0 : kPrefix + padded(prefix.length) - begun.size();
  return rest + limits::kTcpAhead;
}

// Begins the landing of a service frame whose first bytes have arrived.
Landing landing_of(const Prefix& prefix, std::span<const std::byte> begun) noexcept {
  Landing landing;
  landing.kind = prefix.kind;
  landing.meta = {FrameType::service, prefix.tag, prefix.credits};
  std::memcpy(landing.head.data(), begun.data() + kPrefix, kPlacedHead);
  landing.left = prefix.length - kPlacedHead;
  landing.padding = padded(prefix.length) - prefix.length;
  return landing;
}

// Calls use(memory) with where the next bytes belong; null: nowhere.
template <class Use>
auto with_place(const Connection& connection, RegisteredMemory& memory, FrameSink& sink, Use use) {
  const Landing& landing = connection.landing;
  switch (landing.kind) {
    case kPut: return memory.access(landing.region, landing.address, landing.left, use);
    case kGetData: return use(landing.direct);
    default: return use(sink.place(connection.peer, landing.meta, landing.placing()));
  }
}

}  // namespace

int Receiving::receive(Connection& connection) {
  int events = 0;
  std::size_t bytes = 0;
  for (;;) {
    const int frames = deliver(connection, limits::kTcpFramesPerPoll - events);
    if (frames > 1) counters_.add(Counter::reads_saved, static_cast<std::uint64_t>(frames - 1));
    events += frames;
    if (!connection.is(State::established)) return events;
    if (events >= limits::kTcpFramesPerPoll || bytes >= limits::kTcpBulkPerPoll) {
      active_.promote(connection);  // the epoll set does not know of frames in our buffer
      return events;
    }
    if (bytes != 0 && !connection.in.more_likely()) return events;

    Inbox::Got got = Inbox::Got::nothing;
    if (connection.landing.left != 0) {
      got = land_directly(connection);
    } else {
      got = connection.in.read(connection.fd(), read_limit(connection));
      if (connection.placed_lately != 0 && connection.in.more_likely()) --connection.placed_lately;
    }
    bytes += connection.in.last_read();
    if (got == Inbox::Got::nothing) return events;
    if (got == Inbox::Got::closed) {
      connections_.end(connection, no_goodbye(connection, "closed without a goodbye"));
      return events + 1;
    }
    if (got == Inbox::Got::error) {
      connections_.end_with_errno(connection, errno);
      return events + 1;
    }
  }
}

// Delivers the complete frames in the buffer.
int Receiving::deliver(Connection& connection, int budget) {
  Inbox& in = connection.in;
  int events = 0;
  while (events < budget && connection.is(State::established)) {
    if (connection.landing.active()) {
      if (in.bytes().empty()) break;
      ++events;
      land_buffered(connection);
      continue;
    }
    const std::span<const std::byte> bytes = in.bytes();
    if (bytes.size() < kPrefix) break;
    Prefix prefix;
    const bool intact =
        decode_prefix(load_pod<std::uint64_t>(bytes.data()), connection.sequence, prefix);
    if (!intact || !is_acceptable(prefix)) {
      violation(connection, "a frame it cannot have meant");
      break;
    }
    const bool bulk = is_bulk(prefix.kind);
    const std::size_t size = kPrefix + (bulk ? sizeof(BulkHead) : padded(prefix.length));
    if (bytes.size() < size) {
      // Its bytes may be placed as they come.
      if (prefix.kind != kService || bytes.size() < kPrefix + kPlacedHead) break;
      const Landing frame = landing_of(prefix, bytes);
      if (sink_.place(connection.peer, frame.meta, frame.placing()) == nullptr) break;
      connection.landing = frame;
      connection.placed_lately = kExpected;
      ++connection.sequence;
      in.consume(kPrefix + kPlacedHead);
      continue;
    }
    ++connection.sequence;
    ++events;
    const bool valid =
        bulk ? begin_landing(connection, prefix, load_pod<BulkHead>(bytes.data() + kPrefix))
             : handle(connection, prefix, bytes.subspan(kPrefix, prefix.length));
    if (!valid) {
      violation(connection, "remote memory traffic that fits no operation");
      break;
    }
    in.consume(size);
  }
  return events;
}

bool Receiving::handle(Connection& connection, const Prefix& prefix,
                       std::span<const std::byte> payload) {
  switch (prefix.kind) {
    case kGoodbye: connections_.end(connection, {}); return true;
    case kGet: return serve_get(connection, load_pod<BulkHead>(payload.data()));
    case kReply: return finish_operation(connection, load_pod<Reply>(payload.data()));
    default:
      sink_.on_frame(connection.peer,
                     {static_cast<FrameType>(prefix.kind), prefix.tag, prefix.credits}, payload);
      return true;
  }
}

void Receiving::violation(Connection& connection, std::string_view what) {
  counters_.add(Counter::frames_dropped);
  connections_.end(connection, connection.ends() + ": the peer sent " + std::string(what));
}

// --- Remote memory: the target ---

bool Receiving::serve_get(Connection& connection, const BulkHead& head) {
  if (head.left == 0 || connection.out.serving() >= limits::kTcpGets) return false;
  // Whether the memory may be read is checked segment by segment, when it is read.
  connection.out.push({kGetData, head.operation, head.region, head.address, head.left});
  sending_.flush_new(connection);
  return true;
}

bool Receiving::begin_landing(Connection& connection, const Prefix& prefix, const BulkHead& head) {
  Landing& landing = connection.landing;
  const std::size_t size = prefix.length - sizeof head;
  if (size > head.left) return false;
  const bool refused_before = prefix.kind == kPut && landing.kind == kPut && !landing.last &&
                              landing.operation.index == head.operation.index &&
                              landing.operation.generation == head.operation.generation &&
                              landing.refused;
  landing = {};
  landing.kind = prefix.kind;
  landing.operation = head.operation;
  landing.left = size;
  landing.padding = padded(size) - size;
  landing.last = size == head.left;
  landing.refused = refused_before;
  connection.bulk_expected = !landing.last;
  if (prefix.kind == kPut) {
    landing.region = head.region;
    landing.address = head.address;
    return true;
  }
  Pending* pending = connections_.operations().find(head.operation, connection.peer);
  if (pending == nullptr || pending->destination == nullptr) return false;
  if (head.left != pending->left || head.address != pending->size - pending->left) return false;
  landing.direct = pending->destination + head.address;
  pending->left -= size;
  return true;
}

// Moves the buffered bytes of the segment to their place.
void Receiving::land_buffered(Connection& connection) {
  Landing& landing = connection.landing;
  const std::span<const std::byte> bytes = connection.in.bytes();
  const std::size_t size = std::min(landing.left, bytes.size());
  const auto copy = [&](std::byte* to) {
    if (to != nullptr) std::memcpy(to, bytes.data(), size);
    return to != nullptr;
  };
  if (size != 0) {
    if (!with_place(connection, connections_.memory, sink_, copy)) landing.refused = true;
    connection.in.consume(size);
  }
  landed(connection, size);
}

// Reads the segment from the socket to its place; without a place, into the buffer.
Inbox::Got Receiving::land_directly(Connection& connection) {
  Landing& landing = connection.landing;
  std::size_t placed = 0;
  const auto read = [&](std::byte* to) {
    return to == nullptr ? connection.in.read(connection.fd())
                         : connection.in.read_to(connection.fd(), to, landing.left, placed);
  };
  const Inbox::Got got = with_place(connection, connections_.memory, sink_, read);
  if (placed != 0) landed(connection, placed);
  return got;
}

// Accounts for bytes that have left the stream; finishes the segment after its padding.
void Receiving::landed(Connection& connection, std::size_t size) {
  Landing& landing = connection.landing;
  landing.left -= size;
  landing.address += size;
  if (landing.direct != nullptr) landing.direct += size;
  if (landing.kind == kService && size != 0) {
    landing.landed += size;
    sink_.on_placed(connection.peer, landing.meta, landing.placing());
  }
  if (landing.left != 0) return;
  const std::size_t padding = std::min(landing.padding, connection.in.bytes().size());
  connection.in.consume(padding);
  landing.padding -= padding;
  if (landing.active() || !landing.last) return;
  if (landing.kind == kGetData) {
    complete(connection, landing.operation, Result::ok);
  } else if (!reply(connection, landing.operation,
                    landing.refused ? Result::bad_address : Result::ok)) {
    violation(connection, "puts without end, and reads no answer");
  }
}

bool Receiving::reply(Connection& connection, OpRef operation, Result result) {
  if (!connection.is(State::established)) return true;
  const Reply payload{operation, static_cast<std::uint32_t>(result), 0};
  const Slice slice{&payload, sizeof payload};
  return sending_.send_frame(connection, {0, kReply, 0, 0}, &slice, 1, Outbox::Class::reply) !=
         SendStatus::again;
}

// --- Remote memory: the origin ---

bool Receiving::finish_operation(Connection& connection, const Reply& reply) {
  const auto result = static_cast<Result>(reply.result);
  if (reply.result > static_cast<std::uint32_t>(Result::not_supported)) return false;
  const Pending* pending = connections_.operations().find(reply.operation, connection.peer);
  // A successful get ends with its last byte, not with an answer.
  if (pending == nullptr || (pending->destination != nullptr && result == Result::ok)) return false;
  complete(connection, reply.operation, result);
  return true;
}

void Receiving::complete(Connection& connection, OpRef reference, Result result) {
  const Pending* pending = connections_.operations().find(reference, connection.peer);
  if (pending == nullptr) return;  // its peer was closed meanwhile
  --connection.operations;
  if (pending->destination != nullptr) --connection.gets;
  Operation* operation = connections_.operations().take(reference);
  operation->done(operation, result);
}

}  // namespace lfc::tcp
