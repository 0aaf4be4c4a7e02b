// Sequencer: the counter that grants the numbers of a totally ordered broadcast, by fetch-and-add and not faster than
// its slowest member takes the packets, as a pure state machine.
//
//   Sequencer sequencer(members, 256);
//   if (!sequencer.request(member, 3)) ...                       // hostile
//   if (!sequencer.progress(member, taken)) ...                  // hostile
//   while (auto ticket = sequencer.next()) grant(ticket->member, ticket->first);
//
// Invariant: a number is granted only when every member has taken all numbers that are `window` or more below it. So
// `window` places at each member have room for all packets that can come, in any order.
// Requests are served in the order they came. Held by tests/unit/services/ordered/ordered_broadcast_test.cpp.
// Source: LFC thesis 6.4 (GSB) and 3.8; the window is ours. Threads: none of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace lfc {

class Sequencer {
 public:
  struct Ticket {
    std::uint32_t member;
    std::uint64_t first;  // of `count` numbers
    std::uint32_t count;
  };

  // `window` at least 4.
  Sequencer(std::uint32_t members, std::uint32_t window)
      : window_(window), taken_(members), has_request_(members) {}

  // Most numbers of one request: with it members need to report only after every quarter of a window.
  static constexpr std::uint32_t most(std::uint32_t window) noexcept { return window / 2; }
  static constexpr std::uint32_t report_every(std::uint32_t window) noexcept { return window / 4; }

  // Queues a request for `count` consecutive numbers. False: the member has one queued already, or `count` is 0 or too
  // large.
  bool request(std::uint32_t member, std::uint64_t count) {
    if (has_request_[member] || count == 0 || count > most(window_)) return false;
    has_request_[member] = true;
    waiting_.push_back({member, 0, static_cast<std::uint32_t>(count)});
    return true;
  }
  // Notes that the member has taken all numbers below `taken`. False: that is less than before, or not granted yet.
  bool progress(std::uint32_t member, std::uint64_t taken) {
    if (taken < taken_[member] || taken > next_) return false;
    const bool was_slowest = taken_[member] == slowest_;
    taken_[member] = taken;
    if (was_slowest) slowest_ = *std::min_element(taken_.begin(), taken_.end());
    return true;
  }
  // Returns the next request that can be granted now; none if there is none.
  std::optional<Ticket> next() {
    if (waiting_.empty() || next_ + waiting_.front().count > slowest_ + window_) return {};
    Ticket ticket = waiting_.front();
    waiting_.pop_front();
    has_request_[ticket.member] = false;
    ticket.first = next_;
    next_ += ticket.count;
    return ticket;
  }

  // Returns the number below which all have been granted.
  std::uint64_t handed_out() const noexcept { return next_; }
  // Returns the number below which all members have taken all.
  std::uint64_t slowest() const noexcept { return slowest_; }

 private:
  const std::uint32_t window_;
  std::uint64_t next_ = 0;
  std::uint64_t slowest_ = 0;
  std::vector<std::uint64_t> taken_;  // by member
  std::vector<bool> has_request_;     // by member: it has a request in `waiting_`
  std::deque<Ticket> waiting_;
};

}  // namespace lfc
