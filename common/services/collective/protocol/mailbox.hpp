// Mailbox: a request of one rank on a board, for memory that another rank has lent and that it may not read itself. The
// owner of the memory copies it, piece by piece, into a room of the reader, and answers.
//
//   mailbox.request({step, address, bytes, owner});             // the reader, in its own mailbox
//   if (mailbox.has_request(request)) mailbox.answer();         // the owner, when it has copied
//   if (mailbox.is_answered()) ...                              // the reader
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
    std::uint64_t from = 0;   // address in the owner's memory
    std::uint32_t bytes = 0;  // at most Board::kRoom
    std::uint32_t owner = 0;  // its lane in the communicator
  };

  // Publishes a request. Only after is_answered(), if there was one before.
  void request(const Request& request) noexcept {
    request_ = request;
    // Pairs with has_request(): an owner that sees the number sees the request.
    asked_.store(asked_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  bool has_request(Request& out) const noexcept {
    if (asked_.load(std::memory_order_acquire) == answered_.load(std::memory_order_relaxed))
      return false;
    out = request_;
    return true;
  }
  // Pairs with is_answered(): a reader that sees it sees the bytes in its room.
  void answer() noexcept {
    answered_.store(asked_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  bool is_answered() const noexcept {
    return answered_.load(std::memory_order_acquire) == asked_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> asked_;  // number of the last request
  std::atomic<std::uint32_t> answered_;
  Request request_;
};

}  // namespace lfc
