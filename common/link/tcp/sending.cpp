#include "link/tcp/sending.hpp"

#include <algorithm>
#include <cerrno>

#include "base/limits.hpp"

namespace lfc::tcp {
namespace {

// Larger frames gain less by a batch than their copy costs.
constexpr std::size_t kBatchedFrame = 20 * 1024;
constexpr std::uint32_t kStuckFlushes = 16;  // after these a flush is tried less often
constexpr std::uint64_t kStuckPeriod = 16;

}  // namespace

// Frames after the first of a burst may be batched.
SendStatus Sending::send_on(Connection& connection, Prefix prefix, const Slice* slices, int count,
                            Outbox::Class what, bool more) noexcept {
  const bool large = total_size(slices, count) > kBatchedFrame;
  const Batch allowed =
      armed_ || large || more ? Batch::no : sink_.may_batch(connection.burst.is_stream());
  if (allowed == Batch::never) connection.burst.pause();
  const bool timed = allowed == Batch::watched && prefix.kind != kGet;  // a get waits for its reply
  const std::chrono::nanoseconds now = timed ? Clock::now().time_since_epoch() : Clock::duration{};
  const bool batch =
      allowed == Batch::turn || (timed && is_worth_batching(connection, now)) || (more && !armed_);
  const bool joins = connection.out.has_batch();
  const SendStatus status =
      connection.out.send(connection.fd(), prefix, slices, count, what, batch);
  if (status == SendStatus::broken) connections_.fail(connection, errno);
  sent_something(connection);
  if (joins && status == SendStatus::sent) counters_.add(Counter::writes_saved);
  if (!timed) return status;
  if (connection.out.has_batch()) {
    if (batched_since().count() == 0) batched_since_.store(now, std::memory_order_relaxed);
    return status;
  }
  connection.burst.wrote(now, Clock::now().time_since_epoch());
  // Other connections may have older batches.
  if (unsent_.size() <= 1) batched_since_.store({}, std::memory_order_relaxed);
  return status;
}

bool Sending::is_worth_batching(Connection& connection, std::chrono::nanoseconds now) noexcept {
  const std::chrono::nanoseconds since = batched_since();
  return connection.burst.follow(now) && (since.count() == 0 || now - since < kBatchedFor);
}

void Sending::flush_new(Connection& connection) noexcept {
  if (connection.out.flush(connection.fd()) < 0) connections_.fail(connection, errno);
  sent_something(connection);
}

void Sending::note_unsent(Connection& connection) noexcept {
  connection.unsent = true;
  unsent_.push_back(&connection);
  if (armed_) watch_both(connection);
}

void Sending::forget_dead() noexcept {
  std::erase_if(unsent_, [](const Connection* connection) { return connection->is(State::dead); });
}

int Sending::flush_unsent() noexcept {
  int events = 0;
  std::erase_if(unsent_, [&](Connection* connection) {
    const bool rest = connection->stuck > kStuckFlushes && ticks_ % kStuckPeriod != 0 &&
                      !connection->out.has_batch();
    return !rest && flush(*connection, events);
  });
  batched_since_.store({}, std::memory_order_relaxed);
  return events;
}

// True: nothing is left.
bool Sending::flush(Connection& connection, int& events) noexcept {
  if (connection.error != 0 || connection.is(State::dead)) return false;
  const std::ptrdiff_t moved = connection.out.flush(connection.fd());
  if (moved < 0) connections_.fail(connection, errno);
  connection.stuck = moved > 0 ? 0 : connection.stuck + 1;
  if (moved > 0) ++events;
  if (!connection.out.idle()) return false;
  connection.unsent = false;
  if (armed_ && !connection.active) connections_.watch(connection, EPOLLIN);
  if (connection.is(State::closing)) connections_.call_attention();
  return true;
}

void Sending::flush_batched(Connection& connection) noexcept {
  int events = 0;
  if (!connection.out.has_batch() || !flush(connection, events)) return;
  std::erase(unsent_, &connection);
  if (unsent_.empty()) batched_since_.store({}, std::memory_order_relaxed);
}

void Sending::arm() noexcept {
  armed_ = true;
  for (Connection* connection : unsent_) watch_both(*connection);
}

void Sending::disarm() noexcept {
  if (!armed_) return;
  armed_ = false;
  for (Connection* connection : unsent_)
    if (connection->is(State::established) || connection->is(State::closing))
      connections_.watch(*connection, EPOLLIN);
}

// Watches a connection that has unsent bytes while the link is armed. One that is being set up has its own events and a
// timeout.
void Sending::watch_both(Connection& connection) noexcept {
  if (connection.is(State::established) || connection.is(State::closing))
    connections_.watch(connection, EPOLLIN | EPOLLOUT);
}

}  // namespace lfc::tcp
