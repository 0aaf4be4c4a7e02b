// Mailbox: a request of one rank on a board, for memory that another rank has lent and that it may not read itself. The
// owner of the memory copies it, piece by piece, into a room of the reader, and answers.
//
//   mailbox.request({step, address, bytes, owner});             // the reader, in its own mailbox
//   if (mailbox.has_request(request)) mailbox.reply(request);  // the owner, when it has copied
//   if (mailbox.has_reply()) ...                              // the reader
//
// Threads: one reader; of the others only the owner that is named in the request answers it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

class Mailbox {
 public:
  struct Request {
    std::uint64_t step = 0;
    std::uint64_t from = 0;    // address in the owner's memory
    std::uint32_t bytes = 0;   // at most Board::kRoom
    std::uint32_t owner = 0;   // its lane in the communicator
    std::uint32_t number = 0;  // of the request in this mailbox; has_request() fills it in
  };

  // Publishes a request. Only after has_reply(), if there was one before.
  void request(const Request& request) noexcept {
    // Pair with has_request(): a rank that sees a word of this request sees the answer to the one before.
    step_.store(request.step, std::memory_order_release);
    from_.store(request.from, std::memory_order_release);
    bytes_.store(request.bytes, std::memory_order_release);
    owner_.store(request.owner, std::memory_order_release);
    // Pairs with has_request(): an owner that sees the number sees the request.
    requested_.store(requested_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Ranks that are not the owner also read the request. Meanwhile the owner may serve it, and the reader may publish
  // the next one. Then the words in `out` are of two requests, and the result is false.
  bool has_request(Request& out) const noexcept {
    out.number = requested_.load(std::memory_order_acquire);
    out.step = step_.load(std::memory_order_acquire);
    out.from = from_.load(std::memory_order_acquire);
    out.bytes = bytes_.load(std::memory_order_acquire);
    out.owner = owner_.load(std::memory_order_acquire);
    return out.number - replied_.load(std::memory_order_relaxed) == 1;
  }
  // Pairs with has_reply(): a reader that sees it sees the bytes in its room.
  void reply(const Request& request) noexcept {
    replied_.store(request.number, std::memory_order_release);
  }
  bool has_reply() const noexcept {
    return replied_.load(std::memory_order_acquire) == requested_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> requested_;  // number of the last request
  std::atomic<std::uint32_t> replied_;
  std::atomic<std::uint64_t> step_;
  std::atomic<std::uint64_t> from_;
  std::atomic<std::uint32_t> bytes_;
  std::atomic<std::uint32_t> owner_;
};

}  // namespace lfc
