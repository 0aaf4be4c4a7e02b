// Inbox: the receive buffer of one connection. Frames are handed out where they arrived; since
// every frame is padded to 8 bytes on the wire, every payload is aligned.
//
//   switch (inbox.read(fd)) { case Inbox::Got::data: ... }
//   while (inbox.bytes().size() >= need) { use(inbox.bytes()); inbox.consume(n); }
//   inbox.read_to(fd, destination, size, taken);  // past the buffer, into its final place
//
// Invariant: an incomplete frame always has room to become complete.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "base/faults.hpp"
#include "base/limits.hpp"
#include "link/tcp/stream.hpp"

namespace lfc::tcp {

class Inbox {
 public:
  enum class Got : std::uint8_t { data, nothing, closed, error };
  static constexpr std::size_t kHandshake = 2048;          // enough for a hello
  static constexpr std::size_t kEstablished = 256 * 1024;  // a few frames of the largest size
  static constexpr std::size_t kBeyond = 4096;             // read past a segment's end

  static constexpr std::size_t kNoLimit = ~std::size_t{0};

  // Begins small; grow() is called once the peer is authenticated.
  Inbox() {
    if (!grow(kHandshake)) throw std::bad_alloc();
  }
  // False: memory is short, and nothing has changed.
  [[nodiscard]] bool grow(std::size_t capacity) noexcept {
    std::unique_ptr<std::byte[]> larger(new (std::nothrow) std::byte[capacity]);
    if (larger == nullptr) return false;
    const std::span<const std::byte> kept = bytes();
    if (!kept.empty()) std::memcpy(larger.get(), kept.data(), kept.size());
    end_ = kept.size();
    begin_ = 0;
    capacity_ = capacity;
    buffer_ = std::move(larger);
    return true;
  }

  std::span<const std::byte> bytes() const noexcept {
    return {buffer_.get() + begin_, end_ - begin_};
  }
  void consume(std::size_t size) noexcept {
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;  // the buffer's first lines stay warm
  }

  // Reads at most `limit` bytes; `error`: errno has the reason.
  Got read(int fd, std::size_t limit = kNoLimit) noexcept {
    make_room();
    requested_ = std::min(limit, capacity_ - end_);
    if (fault(Fault::read_short)) requested_ = std::min<std::size_t>(requested_, 5);
    if (requested_ == 0) {  // the buffer is full of a hello that is too long
      got_ = 0;
      return Got::nothing;
    }
    return take(::recv(fd, buffer_.get() + end_, requested_, MSG_DONTWAIT), nullptr, 0);
  }

  // Reads `size` bytes to `destination`, and up to kBeyond of the following bytes into the (empty) buffer.
  Got read_to(int fd, void* destination, std::size_t size, std::size_t& taken) noexcept {
    make_room();
    std::array<iovec, 2> pieces{{{destination, size}, {buffer_.get() + end_, kBeyond}}};
    requested_ = size;
    return take(::readv(fd, pieces.data(), pieces.size()), &taken, size);
  }

  std::size_t last_read() const noexcept { return got_; }  // bytes
  // The last read returned as many bytes as it requested, so more may be there.
  bool more_likely() const noexcept { return got_ >= requested_; }

 private:
  // With less room than this a read would be cut short for the buffer's sake.
  static inline const std::size_t kLowRoom = limits::kTcpMessage + kPrefix;

  void make_room() noexcept {
    if (begin_ == 0 || capacity_ - end_ >= kLowRoom) return;
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  Got take(ssize_t got, std::size_t* direct, std::size_t direct_size) noexcept {
    got_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    const std::size_t placed = std::min(got_, direct_size);
    if (direct != nullptr) *direct = placed;
    end_ += got_ - placed;
    if (got > 0) return Got::data;
    if (got == 0) return Got::closed;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Got::nothing : Got::error;
  }

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t requested_ = 0;
  std::size_t got_ = 0;
};

}  // namespace lfc::tcp
