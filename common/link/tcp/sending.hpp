// Sending: the sending half of all connections of a tcp link. A lone frame leaves at once. Frames that follow each
// other soon may be batched, to leave together. Batched frames, and bytes that a socket has not taken, leave with a
// later poll().
//
//   sending.send_frame(connection, prefix, slices, n, Outbox::Class::data);
//   sending.begin_burst();                           // poll() begins, and ends
//   if (!sending.drained()) events += sending.flush_unsent();
//
// Threads: as Link; batched_since() may be called by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "link/link.hpp"
#include "link/tcp/connections.hpp"
#include "stats/counters.hpp"

namespace lfc::tcp {

class Sending {
 public:
  Sending(Connections& connections, FrameSink& sink, Counters& counters)
      : connections_(connections), sink_(sink), counters_(counters) {}

  SendStatus send_frame(Connection& connection, Prefix prefix, const Slice* slices, int count,
                        Outbox::Class what, bool more = false) noexcept;
  // Sends bytes that were put directly into the outbox.
  void flush_new(Connection& connection) noexcept;
  // Called after each use of an outbox; poll() writes the rest.
  void sent_something(Connection& connection) noexcept {
    if (!connection.unsent && !connection.out.idle()) [[unlikely]]
      note_unsent(connection);
  }
  bool drained() const noexcept { return unsent_.empty(); }
  void forget_dead() noexcept;

  // Writes the bytes that wait. 0: no socket took any.
  int flush_unsent() noexcept;
  // Writes the batched replies to the frames of one read, before other connections are read.
  void flush_batched(Connection& connection) noexcept;

  std::chrono::nanoseconds batched_since() const noexcept {
    return batched_since_.load(std::memory_order_relaxed);
  }
  // The next frame of each connection counts as the first of a burst.
  void begin_burst() noexcept { ++polls_; }
  void begin_tick() noexcept { ++ticks_; }

  // --- A thread sleeps on the epoll set instead of polling. ---

  void arm() noexcept;
  void disarm() noexcept;
  bool armed() const noexcept { return armed_; }

 private:
  [[gnu::noinline]] SendStatus send_on(Connection& connection, Prefix prefix, const Slice* slices,
                                       int count, Outbox::Class what, bool more) noexcept;
  [[gnu::noinline]] void note_unsent(Connection& connection) noexcept;
  bool is_worth_batching(Connection& connection, std::chrono::nanoseconds now) noexcept;
  bool flush(Connection& connection, int& events) noexcept;
  void watch_both(Connection& connection) noexcept;

  Connections& connections_;
  FrameSink& sink_;
  Counters& counters_;
  std::vector<Connection*> unsent_;
  std::atomic<std::chrono::nanoseconds> batched_since_{};  // read by any thread
  std::uint32_t polls_ = 1;                                // begins and ends of polls
  bool armed_ =
      false;  // every connection is in the epoll set, one with unsent bytes also for writing
  std::uint64_t ticks_ = 0;
};

// The first frame since a poll leaves at once, without a call of the sink. With `more` it waits for the next frame,
// unless the link is armed: the thread would be woken for it.
[[gnu::always_inline]] inline SendStatus Sending::send_frame(Connection& connection, Prefix prefix,
                                                             const Slice* slices, int count,
                                                             Outbox::Class what,
                                                             bool more) noexcept {
  if (!connection.burst.is_first(polls_)) [[unlikely]]
    return send_on(connection, prefix, slices, count, what, more);
  const SendStatus status =
      connection.out.send(connection.fd(), prefix, slices, count, what, more && !armed_);
  if (status == SendStatus::broken) [[unlikely]]
    connections_.fail(connection, errno);
  sent_something(connection);
  return status;
}

}  // namespace lfc::tcp
