// Outbox: the sending half of one connection. Frames go straight from the caller's memory into the
// socket; bytes that the socket does not take wait in a bounded backlog. Puts and answers to gets
// are sent in segments straight from registered memory; between two segments the backlog goes
// first, so that a small frame waits for at most one segment. Frames that follow each other may be
// batched in the backlog, so that one system call takes many.
//
//   if (outbox.send(fd, meta_prefix, slices, n, Outbox::Class::data) == SendStatus::again) ...
//   outbox.send(fd, meta_prefix, slices, n, Outbox::Class::data, true);     // may wait, to leave with the next
//   outbox.push({kPut, operation, region, address, size, source});
//   outbox.flush(fd);            // from poll(), until outbox.idle()
//
// Invariant: bytes enter the socket in the order of their frames' sequence numbers.
// Threads: the caller serialises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/memory.hpp"
#include "link/tcp/stream.hpp"

namespace lfc::tcp {

class Outbox {
 public:
  // The order in which a growing backlog refuses frames: data first, then control, last the link's own
  // answers. The number of answers is bounded by limits::kTcpOperations.
  enum class Class : std::uint8_t { data, control, reply };
  // A put (bytes at `source`), or the answer to a get (bytes of a region).
  struct Bulk {
    Kind kind;
    OpRef operation;
    std::uint64_t region;   // at the target
    std::uint64_t address;  // at the target
    std::uint64_t size;
    const std::byte* source = nullptr;  // a put's
    std::uint64_t offset = 0;           // sent so far
  };

  explicit Outbox(RegisteredMemory& memory) noexcept : memory_(memory) {}

  // `prefix.length` is set here. `batch`: the frame may be batched, if it is small, until flush() or the next that
  // is not. `broken`: the socket failed, errno has the reason.
  SendStatus send(int fd, Prefix prefix, const Slice* slices, int count, Class what,
                  bool batch = false);
  // Queues raw bytes that belong to no frame (the hello).
  void append_raw(const void* data, std::size_t size);
  void push(const Bulk& bulk);
  // Forgets all bulk transfers. A put's half-written segment is copied and goes out whole, so that
  // the memory it comes from is free.
  void abandon_bulk();
  // Writes what is waiting, as far as the socket takes it, at most about 1 MiB. Returns the number
  // of bytes, or -1: the socket failed, errno has the reason.
  std::ptrdiff_t flush(int fd);

  // Frames that no write has been tried for.
  bool has_batch() const noexcept { return batched_; }
  bool idle() const noexcept { return backlog_.empty() && !segment_.open && bulk_.empty(); }
  // Answers to gets that have not been sent whole.
  std::uint32_t serving() const noexcept { return serving_; }

 private:
  // The segment that is being written: head, then bytes, then padding.
  struct Segment {
    std::array<std::byte, kPrefix + sizeof(BulkHead)> head{};
    std::size_t head_sent = 0;
    std::uint64_t region = 0;
    std::uint64_t address = 0;  // of the next byte, in this process
    std::size_t left = 0;
    std::size_t padding = 0;
    bool served = false;  // bytes of a region, which may be deregistered meanwhile
    bool open = false;
  };

  // A frame on its way out.
  struct Frame {
    std::uint64_t word;
    const Slice* slices;
    int count;
    std::size_t size;  // of the slices
    std::size_t total() const noexcept { return kPrefix + padded(size); }
  };

  std::size_t backlog_size() const noexcept { return backlog_.size() - backlog_sent_; }
  bool refuses(std::size_t size, Class what) const noexcept;
  SendStatus send_behind(int fd, const Frame& frame, Class what, bool batch);
  static std::ptrdiff_t write_frame(int fd, std::span<std::byte> before, const Frame& frame);
  void append_frame(const Frame& frame, std::size_t skip);
  void written_of_backlog(std::size_t size) noexcept;
  void start_segment();
  void finish_bulk();
  std::ptrdiff_t write_backlog(int fd);
  std::ptrdiff_t write_segment(int fd);

  RegisteredMemory& memory_;
  std::vector<std::byte> backlog_;
  std::size_t backlog_sent_ = 0;
  bool batched_ =
      false;  // the backlog is batched frames, and the socket has room as far as is known
  Segment segment_;
  std::deque<Bulk> bulk_;
  std::uint32_t serving_ = 0;
  std::uint8_t sequence_ = 0;
};

}  // namespace lfc::tcp
