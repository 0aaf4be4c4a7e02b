// Sequencer: hands out the numbers of a totally ordered broadcast, by fetch-and-add, and not faster
// than its slowest member takes what they are for, as a pure state machine.
//
//   Sequencer sequencer(members, 256);
//   if (!sequencer.request(member, 3)) ...                       // hostile
//   if (!sequencer.progress(member, taken)) ...                  // hostile
//   while (auto ticket = sequencer.next()) tell(ticket->member, ticket->first);
//
// Invariant: a number is handed out only when every member has taken all numbers that are `window`
// or more below it. So `window` places at each member hold whatever can come, in whatever order.
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
      : window_(window), taken_(members), asks_(members) {}

  // Numbers that one request may ask for: members need to tell what they have taken every quarter
  // of a window only.
  static constexpr std::uint32_t most(std::uint32_t window) noexcept { return window / 2; }
  static constexpr std::uint32_t report_every(std::uint32_t window) noexcept { return window / 4; }

  // The member wants `count` numbers in a row. False: it has asked already, or for too many or none.
  bool request(std::uint32_t member, std::uint64_t count) {
    if (asks_[member] || count == 0 || count > most(window_)) return false;
    asks_[member] = true;
    waiting_.push_back({member, 0, static_cast<std::uint32_t>(count)});
    return true;
  }
  // The member has taken all numbers below `taken`. False: that goes back, or is not out yet.
  bool progress(std::uint32_t member, std::uint64_t taken) {
    if (taken < taken_[member] || taken > next_) return false;
    const bool was_slowest = taken_[member] == slowest_;
    taken_[member] = taken;
    if (was_slowest) slowest_ = *std::min_element(taken_.begin(), taken_.end());
    return true;
  }
  // The next request that can be granted now.
  std::optional<Ticket> next() {
    if (waiting_.empty() || next_ + waiting_.front().count > slowest_ + window_) return {};
    Ticket ticket = waiting_.front();
    waiting_.pop_front();
    asks_[ticket.member] = false;
    ticket.first = next_;
    next_ += ticket.count;
    return ticket;
  }

  // Numbers below it have been handed out.
  std::uint64_t handed_out() const noexcept { return next_; }
  // All members have taken the numbers below it.
  std::uint64_t slowest() const noexcept { return slowest_; }

 private:
  const std::uint32_t window_;
  std::uint64_t next_ = 0;
  std::uint64_t slowest_ = 0;
  std::vector<std::uint64_t> taken_;  // by member
  std::vector<bool> asks_;            // by member: it has a request in `waiting_`
  std::deque<Ticket> waiting_;
};

}  // namespace lfc
