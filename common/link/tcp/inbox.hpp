// Inbox: the receive buffer of one connection. Frames are handed out where they arrived; since every frame is padded to
// 8 bytes on the wire, every payload is aligned. A large one may be lent: it stays where it is, and when the buffer is
// full the inbox goes on in another one.
//
//   switch (inbox.read(fd)) { case Inbox::Got::data: ... }
//   while (inbox.bytes().size() >= need) { use(inbox.bytes()); inbox.consume(n); }
//   inbox.read_to(fd, destination, size, taken);  // past the buffer, into its final place
//   if (SharedBytes kept = inbox.lend(payload)) ...;  // by use()
//
// Invariants: an incomplete frame always has room to become complete, if memory is not short. An inbox keeps at most
// kTcpLentBuffers buffers beside its own from being freed.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/faults.hpp"
#include "base/limits.hpp"
#include "base/shared_bytes.hpp"
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
    SharedBytes larger = allocate_bytes(capacity);
    if (!larger) return false;
    const std::span<const std::byte> kept = bytes();
    if (!kept.empty()) std::memcpy(larger.writable(), kept.data(), kept.size());
    end_ = kept.size();
    begin_ = 0;
    buffer_ = std::move(larger);
    return true;
  }

  std::span<const std::byte> bytes() const noexcept {
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void consume(std::size_t size) noexcept {
    begin_ += size;
    // The buffer's first lines stay warm.
    if (begin_ == end_ && !buffer_.has_others()) begin_ = end_ = 0;
  }
  // Returns an owner of bytes() or a part of it, which then do not change. None: the part is small, or no part of
  // bytes(), or enough buffers are lent. Throws std::bad_alloc.
  SharedBytes lend(std::span<const std::byte> part) {
    const std::span<const std::byte> all = bytes();
    if (part.size() < limits::kTcpLent || part.data() < all.data() ||
        part.data() + part.size() > all.data() + all.size())
      return {};
    if (lent_.size() == limits::kTcpLentBuffers)
      std::erase_if(lent_, [](const SharedBytes& buffer) { return !buffer.has_others(); });
    if (lent_.size() == limits::kTcpLentBuffers) return {};
    lent_.reserve(limits::kTcpLentBuffers);  // leave_buffer() must need no memory
    return buffer_.part(static_cast<std::size_t>(part.data() - buffer_.data()), part.size());
  }
  // Reads at most `limit` bytes; `error`: errno has the reason.
  Got read(int fd, std::size_t limit = kNoLimit) noexcept {
    make_room();
    requested_ = std::min(limit, buffer_.size() - end_);
    if (fault(Fault::read_short)) requested_ = std::min<std::size_t>(requested_, 5);
    if (requested_ == 0) {  // the buffer is full of a hello that is too long
      got_ = 0;
      return Got::nothing;
    }
    return take(::recv(fd, buffer_.writable() + end_, requested_, MSG_DONTWAIT), nullptr, 0);
  }

  // Reads `size` bytes to `destination`, and up to kBeyond of the following bytes into the (empty) buffer. It may have
  // less room: others own its begin, and memory is short.
  Got read_to(int fd, void* destination, std::size_t size, std::size_t& taken) noexcept {
    make_room();
    const std::size_t beyond = std::min(kBeyond, buffer_.size() - end_);
    std::array<iovec, 2> pieces{{{destination, size}, {buffer_.writable() + end_, beyond}}};
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
    if (begin_ == 0 || buffer_.size() - end_ >= kLowRoom) return;
    if (buffer_.has_others()) {
      leave_buffer();
      return;
    }
    std::memmove(buffer_.writable(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Goes on in another buffer. If memory is short, a later read does, or the other owners are gone by then.
  void leave_buffer() noexcept {
    const auto free = std::find_if(lent_.begin(), lent_.end(),
                                   [](const SharedBytes& buffer) { return !buffer.has_others(); });
    if (free == lent_.end()) {
      SharedBytes left = buffer_;
      if (grow(buffer_.size())) lent_.push_back(std::move(left));
      return;
    }
    const std::span<const std::byte> kept = bytes();
    if (!kept.empty()) std::memcpy(free->writable(), kept.data(), kept.size());
    end_ = kept.size();
    begin_ = 0;
    std::swap(buffer_, *free);
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

  SharedBytes buffer_;
  std::vector<SharedBytes> lent_;  // buffers left, which have other owners or had
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t requested_ = 0;
  std::size_t got_ = 0;
};

}  // namespace lfc::tcp
