// Sending: what leaves on the connections of a tcp link, and when: a lone frame at once; frames that follow each other
// soon may be batched, to leave together; and what a socket has not taken, or has been batched, with a later
// poll().
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
  // Bytes that have been put into the outbox otherwise.
  void flush_new(Connection& connection) noexcept;
  // After each use of an outbox: the rest is for poll() to write.
  void sent_something(Connection& connection) noexcept {
    if (!connection.unsent && !connection.out.idle()) [[unlikely]]
      note_unsent(connection);
  }
  bool drained() const noexcept { return unsent_.empty(); }
  void forget_dead() noexcept;

  // Writes what waits; 0: nothing moved.
  int flush_unsent() noexcept;
  // What the frames that have come have caused does not wait for those of others.
  void flush_batched(Connection& connection) noexcept;

  std::chrono::nanoseconds batched_since() const noexcept {
    return batched_since_.load(std::memory_order_relaxed);
  }
  // What is sent from here on does not follow what was sent before.
  void begin_burst() noexcept { ++polls_; }
  void begin_tick() noexcept { ++ticks_; }

  // --- Somebody waits for what is watched, instead of polling. ---

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
  std::uint32_t polls_ = 1;                                // begun, and ended
  bool armed_ = false;  // every connection is in the epoll set, for writing, too, where it waits
  std::uint64_t ticks_ = 0;
};

// The first frame since a poll goes at once, and nothing is asked before. But for `more`, it leaves with the next.
// While armed it does not: the thread would be woken for it.
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
