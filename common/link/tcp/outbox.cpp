#include "link/tcp/outbox.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/faults.hpp"
#include "base/limits.hpp"

namespace lfc::tcp {
namespace {

constexpr std::size_t kGather = 2048;  // up to here a copy is cheaper than a long iovec
constexpr std::size_t kSmall = 4096;   // frames that may join a backlog
// And control frames until so many more, also behind a half-written frame of any size.
const std::size_t kReserve = limits::kTcpPlaced + 32 * 1024;
const std::size_t kReplies =  // and one answer to each operation
    limits::kTcpOperations * (kPrefix + sizeof(Reply));
constexpr int kMaxSlices = 12;
constexpr std::array<std::byte, 8> kPadding{};

// Stands in for memory that was deregistered while it was being sent: the frame must be finished.
constinit std::array<std::byte, limits::kLargestTcpSegment> g_nothing{};

// Bytes written; 0 when the socket is full; -1 with errno otherwise.
ssize_t checked(ssize_t written) noexcept {
  if (written >= 0) return written;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

ssize_t write_some(int fd, const void* data, std::size_t size) noexcept {
  if (fault(Fault::write_short)) size = (size + 2) / 3;
  return checked(::send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t write_some(int fd, iovec* pieces, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = fault(Fault::write_short) ? 1 : count;
  return checked(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// Copies prefix, slices and padding to `out`, which has room for all of them.
void gather(std::byte* out, std::uint64_t word, const Slice* slices, int count,
            std::size_t size) noexcept {
  std::memcpy(out, &word, kPrefix);
  out += kPrefix;
  if (padded(size) != size) std::memset(out + padded(size) - 8, 0, 8);  // a single store
  for (int i = 0; i < count; ++i) {
    if (slices[i].size != 0) std::memcpy(out, slices[i].data, slices[i].size);
    out += slices[i].size;
  }
}

}  // namespace

bool Outbox::refuses(std::size_t size, Class what) const noexcept {
  const std::size_t waiting = backlog_size();
  if (what == Class::control) return waiting >= limits::kTcpBacklog + kReserve;
  if (what == Class::reply) return waiting >= limits::kTcpBacklog + kReserve + kReplies;
  // Behind a half-written segment one frame of any size may wait, lest bulk data starve it.
  return waiting != 0 && (size > kSmall || waiting >= limits::kTcpBacklog);
}

SendStatus Outbox::send(int fd, Prefix prefix, const Slice* slices, int count, Class what,
                        bool batch) {
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) size += slices[i].size;
  prefix.length = static_cast<std::uint32_t>(size);
  const Frame frame{encode_prefix(prefix, sequence_), slices, count, size};
  if (batch || backlog_size() != 0 || segment_.open || count > kMaxSlices) [[unlikely]]
    return send_behind(fd, frame, what, batch);

  ssize_t written = 0;
  if (size <= kGather) {
    alignas(8) std::byte bytes[kPrefix + kGather];
    gather(bytes, frame.word, slices, count, size);
    written = write_some(fd, bytes, frame.total());
  } else {
    written = write_frame(fd, {}, frame);
  }
  if (written < 0) return SendStatus::broken;
  if (written == 0 && what == Class::data) return SendStatus::again;
  ++sequence_;
  if (static_cast<std::size_t>(written) < frame.total()) [[unlikely]]
    append_frame(frame, static_cast<std::size_t>(written));
  return SendStatus::sent;
}

// Sends a frame that is to be batched, or that finds others waiting. It leaves together with batched
// frames, or waits behind bytes that the socket has not taken.
SendStatus Outbox::send_behind(int fd, const Frame& frame, Class what, bool batch) {
  const std::size_t before = backlog_size();
  const bool room =
      !segment_.open && (before == 0 || batched_);  // in the socket, as far as is known
  if (batch && room && before + frame.total() <= limits::kTcpBatch) {
    ++sequence_;
    append_frame(frame, 0);
    batched_ = true;
    return SendStatus::sent;
  }
  std::size_t written = 0;
  bool full = false;
  if (room && frame.count <= kMaxSlices) {
    const ssize_t moved = write_frame(fd, {backlog_.data() + backlog_sent_, before}, frame);
    if (moved < 0) return SendStatus::broken;
    written = static_cast<std::size_t>(moved);
    const std::size_t earlier = std::min(written, before);
    written_of_backlog(earlier);
    written -= earlier;
    full = written == 0 && what == Class::data && backlog_size() == 0;
  }
  if (full || (written == 0 && refuses(frame.size, what))) return SendStatus::again;
  ++sequence_;
  if (written < frame.total()) append_frame(frame, written);
  return SendStatus::sent;
}

// One system call for the bytes `before` and the frame, straight from where its bytes are.
std::ptrdiff_t Outbox::write_frame(int fd, std::span<std::byte> before, const Frame& frame) {
  std::array<iovec, kMaxSlices + 3> pieces;
  std::size_t used = 0;
  if (!before.empty()) pieces[used++] = {before.data(), before.size()};
  pieces[used++] = {const_cast<std::uint64_t*>(&frame.word), kPrefix};
  for (int i = 0; i < frame.count; ++i)
    pieces[used++] = {const_cast<void*>(frame.slices[i].data), frame.slices[i].size};
  pieces[used++] = {const_cast<std::byte*>(kPadding.data()), padded(frame.size) - frame.size};
  return write_some(fd, pieces.data(), used);
}

// Appends the frame without its first `skip` bytes, which went into the socket just now.
void Outbox::append_frame(const Frame& frame, std::size_t skip) {
  if (backlog_sent_ >= limits::kTcpBacklog) {
    backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<std::ptrdiff_t>(backlog_sent_));
    backlog_sent_ = 0;
  }
  const std::size_t begin = backlog_.size();
  backlog_.resize(begin + frame.total());
  gather(backlog_.data() + begin, frame.word, frame.slices, frame.count, frame.size);
  backlog_sent_ += skip;
}

void Outbox::written_of_backlog(std::size_t size) noexcept {
  batched_ = false;
  backlog_sent_ += size;
  if (backlog_size() != 0) return;
  backlog_.clear();
  backlog_sent_ = 0;
}

void Outbox::append_raw(const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  backlog_.insert(backlog_.end(), first, first + size);
}

void Outbox::push(const Bulk& bulk) {
  bulk_.push_back(bulk);
  if (bulk.kind == kGetData) ++serving_;
}

void Outbox::finish_bulk() {
  if (bulk_.front().kind == kGetData) --serving_;
  bulk_.pop_front();
}

void Outbox::abandon_bulk() {
  bulk_.clear();
  serving_ = 0;
  if (!segment_.open || segment_.served) return;
  const std::byte* head = segment_.head.data();
  const auto* bytes = reinterpret_cast<const std::byte*>(segment_.address);
  std::vector<std::byte> rest(head + segment_.head_sent, head + segment_.head.size());
  rest.insert(rest.end(), bytes, bytes + segment_.left);
  rest.resize(rest.size() + segment_.padding);
  backlog_.insert(backlog_.begin() + static_cast<std::ptrdiff_t>(backlog_sent_), rest.begin(),
                  rest.end());
  segment_.open = false;
  batched_ = false;
}

std::ptrdiff_t Outbox::flush(int fd) {
  std::ptrdiff_t total = 0;
  for (;;) {
    std::ptrdiff_t written = 0;
    bool finished = true;
    if (segment_.open) {
      written = write_segment(fd);
      finished = !segment_.open;
    } else if (backlog_size() != 0) {
      written = write_backlog(fd);
      finished = backlog_size() == 0;
    } else if (bulk_.empty() || total >= limits::kTcpFlush) {
      return total;
    } else {
      start_segment();
    }
    if (written < 0) return -1;
    total += written;
    if (!finished) return total;
  }
}

std::ptrdiff_t Outbox::write_backlog(int fd) {
  const ssize_t written = write_some(fd, backlog_.data() + backlog_sent_, backlog_size());
  if (written >= 0) written_of_backlog(static_cast<std::size_t>(written));
  return written;
}

// Opens the next segment of the first bulk transfer; or, when the memory to send is
// deregistered, queues an answer with the error.
void Outbox::start_segment() {
  Bulk& bulk = bulk_.front();
  const std::uint64_t left = bulk.size - bulk.offset;
  const std::size_t size = std::min<std::uint64_t>(left, limits::kTcpSegment);
  BulkHead head{bulk.operation, bulk.region, bulk.address + bulk.offset, left};
  segment_.served = bulk.kind == kGetData;
  segment_.region = bulk.region;
  if (segment_.served) {
    segment_.address = head.address;
    const bool gone = memory_.access(bulk.region, head.address, size,
                                     [](const std::byte* bytes) { return bytes == nullptr; });
    if (gone) {
      const Reply reply{bulk.operation, static_cast<std::uint32_t>(Result::bad_address), 0};
      const Slice slice{&reply, sizeof reply};
      append_frame(
          {encode_prefix({sizeof reply, kReply, 0, 0}, sequence_++), &slice, 1, sizeof reply}, 0);
      finish_bulk();
      return;
    }
    head.region = 0;
    head.address = bulk.offset;
  } else {
    segment_.address = reinterpret_cast<std::uint64_t>(bulk.source) + bulk.offset;
  }
  const auto length = static_cast<std::uint32_t>(sizeof head + size);
  const std::uint64_t word = encode_prefix({length, bulk.kind, 0, 0}, sequence_++);
  std::memcpy(segment_.head.data(), &word, kPrefix);
  std::memcpy(segment_.head.data() + kPrefix, &head, sizeof head);
  segment_.head_sent = 0;
  segment_.left = size;
  segment_.padding = padded(size) - size;
  segment_.open = true;
  bulk.offset += size;
  if (bulk.offset == bulk.size) finish_bulk();
}

std::ptrdiff_t Outbox::write_segment(int fd) {
  const auto write = [&](const std::byte* bytes) {
    std::array<iovec, 3> pieces{{
        {segment_.head.data() + segment_.head_sent, segment_.head.size() - segment_.head_sent},
        {const_cast<std::byte*>(bytes), segment_.left},
        {const_cast<std::byte*>(kPadding.data()), segment_.padding},
    }};
    return write_some(fd, pieces.data(), pieces.size());
  };
  const ssize_t written =
      segment_.served ? memory_.access(segment_.region, segment_.address, segment_.left,
                                       [&](const std::byte* bytes) {
                                         return write(bytes != nullptr ? bytes : g_nothing.data());
                                       })
                      : write(reinterpret_cast<const std::byte*>(segment_.address));
  if (written < 0) return written;
  auto rest = static_cast<std::size_t>(written);
  const std::size_t head = std::min(rest, segment_.head.size() - segment_.head_sent);
  segment_.head_sent += head;
  rest -= head;
  const std::size_t bytes = std::min(rest, segment_.left);
  segment_.left -= bytes;
  segment_.address += bytes;
  segment_.padding -= rest - bytes;
  segment_.open = segment_.head_sent < segment_.head.size() || segment_.left + segment_.padding > 0;
  return written;
}

}  // namespace lfc::tcp
