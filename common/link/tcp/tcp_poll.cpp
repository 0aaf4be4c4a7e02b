// poll(): connections that carry traffic are read directly, one system call each; all others,
// and the listener, are in an epoll set that is asked the more rarely the less it has to say.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/limits.hpp"
#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

constexpr std::uint32_t kColdAfter = 4096;  // polls without a byte until one is no longer
// Polls from one look at the epoll set to the next, once looks have been fruitless.
constexpr std::uint32_t kBesideHot = 16;
constexpr std::uint32_t kAlone = 8;
constexpr std::uint32_t kPatience = 32;      // fruitless looks before they become rarer
constexpr std::uint32_t kStuckFlushes = 16;  // after these a flush is tried less often
constexpr std::uint64_t kStuckPeriod = 16;
constexpr std::uint64_t kTimePeriod = 256;  // polls between looks at the clock
constexpr int kEvents = 32;

}  // namespace

int TcpLink::poll() noexcept {
  ++ticks_;
  begin_burst();
  int events = 0;
  // The three flags are hints: what they announce is read under the lock, now or one poll later.
  if (any_unsent_.load(std::memory_order_relaxed)) events += flush_unsent();
  if (!hot_.empty()) events += poll_hot();
  if (until_cold_ == 0 || --until_cold_ == 0) events += poll_cold();
  if (attention_.load(std::memory_order_relaxed)) events += attend();
  if (ticks_ % kTimePeriod == 0 && timed_.load(std::memory_order_relaxed))
    events += check_time(Clock::now());
  begin_burst();  // what is sent from here on does not follow what was sent in it
  return events;
}

void TcpLink::push() noexcept {
  if (any_unsent_.load(std::memory_order_relaxed)) flush_unsent();
}

int TcpLink::flush_unsent() noexcept {
  const SendLock::Guard guard(lock_);
  int events = 0;
  std::erase_if(unsent_, [&](Connection* connection) {
    const bool rest =
        connection->stuck > kStuckFlushes && ticks_ % kStuckPeriod != 0 && !connection->out.keeps();
    return !rest && flush(*connection, events);
  });
  any_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
  kept_since_.store({}, std::memory_order_relaxed);
  return events;
}

// With lock_; true: nothing is left.
bool TcpLink::flush(Connection& connection, int& events) noexcept {
  if (connection.error != 0 || connection.is(State::dead)) return false;
  const std::ptrdiff_t moved = connection.out.flush(connection.fd());
  if (moved < 0) fail(connection, errno);
  connection.stuck = moved > 0 ? 0 : connection.stuck + 1;
  if (moved > 0) ++events;
  if (!connection.out.idle()) return false;
  connection.unsent = false;
  if (armed_ && !connection.hot) watch(connection, EPOLLIN);
  if (connection.is(State::closing)) attention_.store(true, std::memory_order_relaxed);
  return true;
}

// What the frames that have come have caused does not wait for those of others.
void TcpLink::push_kept(Connection& connection) noexcept {
  const SendLock::Guard guard(lock_);
  int events = 0;
  if (!connection.out.keeps() || !flush(connection, events)) return;
  std::erase(unsent_, &connection);
  any_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
  if (unsent_.empty()) kept_since_.store({}, std::memory_order_relaxed);
}

int TcpLink::service(Connection& connection) {
  switch (connection.state.load(std::memory_order_acquire)) {
    case State::connecting: return finish_connect(connection);
    case State::hello_sent: return await_ack(connection);
    case State::greeting:
    case State::waiting: return greet(connection);
    case State::established: {
      const int events = receive(connection);
      if (events != 0 && any_unsent_.load(std::memory_order_relaxed)) push_kept(connection);
      return events;
    }
    case State::closing: return drain(connection);
    case State::dead: return 0;
  }
  return 0;
}

int TcpLink::poll_hot() {
  int events = 0;
  // By index: a callback may not poll, but receiving may promote.
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    Connection& connection = *hot_[i];
    const int found = service(connection);
    connection.idle = found != 0 ? 0 : connection.idle + 1;
    events += found;
  }
  const auto cools = [](const Connection* connection) { return connection->idle > kColdAfter; };
  if (std::any_of(hot_.begin(), hot_.end(), cools)) [[unlikely]] {
    const std::vector<Connection*> all = hot_;
    for (Connection* connection : all)
      if (cools(connection)) demote(*connection);
  }
  return events;
}

int TcpLink::poll_cold() {
  std::array<epoll_event, kEvents> ready;
  const int count = ::epoll_wait(epoll_.fd(), ready.data(), kEvents, 0);
  int events = 0;
  for (int i = 0; i < count; ++i) {
    void* const what = ready[static_cast<std::size_t>(i)].data.ptr;
    if (what == nullptr || what == &timer_) {
      events += what == nullptr ? accept_strangers() : look_after_peers();
      continue;
    }
    auto* connection = static_cast<Connection*>(what);
    const int found = service(*connection);
    events += found;
    if (found != 0 && hot_.size() < limits::kTcpHot) promote(*connection);
  }
  fruitless_ = count > 0 ? 0 : fruitless_ + 1;
  until_cold_ = fruitless_ < kPatience ? 1 : hot_.empty() ? kAlone : kBesideHot;
  return events;
}

void TcpLink::promote(Connection& connection) noexcept {
  if (connection.hot || !connection.is(State::established)) return;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, connection.fd(), nullptr) != 0) return;
  connection.hot = true;
  connection.idle = 0;
  hot_.push_back(&connection);
}

void TcpLink::demote(Connection& connection) noexcept {
  connection.hot = false;
  std::erase(hot_, &connection);
  watch(connection, EPOLLIN);
}

// Everything that could happen is then an event of the epoll set, which reports what has happened
// before as well; only timeouts are not.
Link::Armed TcpLink::arm() noexcept {
  while (!hot_.empty()) demote(*hot_.back());
  const SendLock::Guard guard(lock_);
  armed_ = true;
  for (Connection* connection : unsent_) watch_both(*connection);
  until_cold_ = 0;
  if (attention_.load(std::memory_order_relaxed)) {
    disarm_unlocked();
    return Armed::busy;
  }
  note_deadlines();  // what was timed may be long over, and whoever sleeps would wake for nothing
  return timed_.load(std::memory_order_relaxed) ? Armed::partly : Armed::fully;
}

void TcpLink::disarm() noexcept {
  const SendLock::Guard guard(lock_);
  disarm_unlocked();
}

void TcpLink::disarm_unlocked() noexcept {
  if (!armed_) return;
  armed_ = false;
  ticks_ |= kTimePeriod - 1;  // time has passed that no poll has counted
  for (Connection* connection : unsent_)
    if (connection->is(State::established) || connection->is(State::closing))
      watch(*connection, EPOLLIN);
}

// While armed: for a connection that has something to write. One that is being set up has its own
// events, and a timeout.
void TcpLink::watch_both(Connection& connection) noexcept {
  if (connection.is(State::established) || connection.is(State::closing))
    watch(connection, EPOLLIN | EPOLLOUT);
}

// Reads and forgets what a closed peer still sends.
int TcpLink::drain(Connection& connection) noexcept {
  std::array<std::byte, 16 * 1024> waste;
  for (int round = 0; round < 16; ++round) {
    const ssize_t got = ::recv(connection.fd(), waste.data(), waste.size(), MSG_DONTWAIT);
    if (got > 0) continue;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      connection.state.store(State::dead, std::memory_order_release);
      attention_.store(true, std::memory_order_relaxed);
    }
    return 0;
  }
  return 1;
}

// Does what send(), close() and the rest of poll() have left for later.
int TcpLink::attend() {
  attention_.store(false, std::memory_order_relaxed);
  std::vector<std::pair<Connection*, int>> failed;
  std::vector<Operation*> cancelled;
  {
    const SendLock::Guard guard(lock_);
    cancelled.swap(cancelled_);
    for (const auto& connection : connections_) {
      if (connection->is(State::dead)) continue;
      if (connection->error != 0) failed.emplace_back(connection.get(), connection->error);
      if (connection->is(State::closing) && connection->out.idle() && !connection->shut) {
        connection->shut = true;
        connection->deadline = Clock::now() + options_.connect_timeout;
        ::shutdown(connection->fd(), SHUT_WR);
      }
    }
  }
  for (const auto& [connection, error] : failed) end_with_errno(*connection, error);
  for (Operation* operation : cancelled) operation->done(operation, Result::unreachable);
  bury();
  return static_cast<int>(failed.size() + cancelled.size());
}

// Frees dead connections. Only here, so that no pointer outlives a round of poll().
void TcpLink::bury() noexcept {
  const SendLock::Guard guard(lock_);
  const auto dead = [](const auto& connection) { return connection->is(State::dead); };
  std::erase_if(hot_, dead);
  std::erase_if(unsent_, dead);
  for (const auto& connection : connections_)
    if (dead(connection) && connection->stranger) --strangers_;
  std::erase_if(connections_, dead);
}

bool TcpLink::has_deadline(const Connection& connection) noexcept {
  return connection.deadline != Clock::time_point::max() && !connection.is(State::dead);
}

// With lock_: whether poll() has to look at the clock.
void TcpLink::note_deadlines() noexcept {
  const bool connections = std::any_of(connections_.begin(), connections_.end(),
                                       [](const auto& each) { return has_deadline(*each); });
  const bool slots = std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.status == Slot::Status::crossed;
  });
  const bool deaf = listen_again_ != Clock::time_point::max();
  timed_.store(connections || slots || deaf, std::memory_order_relaxed);
}

int TcpLink::check_time(Clock::time_point now) {
  std::vector<Connection*> late;
  std::vector<Connection*> waiting;
  std::vector<PeerId> missing;
  {
    const SendLock::Guard guard(lock_);
    if (listen_again_ <= now) {
      listen_again_ = Clock::time_point::max();
      listen(true);
    }
    for (const auto& connection : connections_) {
      if (!has_deadline(*connection)) continue;
      if (connection->deadline <= now) {
        late.push_back(connection.get());
      } else if (connection->is(State::waiting)) {
        waiting.push_back(connection.get());
      }
    }
    for (PeerId peer = 0; peer < slots_.size(); ++peer) {
      if (slots_[peer].status != Slot::Status::crossed || slots_[peer].deadline > now) continue;
      slots_[peer].status = Slot::Status::broken;
      missing.push_back(peer);
    }
    note_deadlines();
  }
  for (Connection* connection : late) {
    if (connection->is(State::connecting)) {
      end(*connection, no_connection(*connection, ETIMEDOUT));
    } else if (connection->is(State::closing)) {
      drain(*connection);
      end(*connection, {});
    } else {
      drop_stranger(*connection);
    }
  }
  for (PeerId peer : missing)
    sink_.on_broken(peer, *this, "its connection, which takes precedence over ours, never came");
  int events = static_cast<int>(late.size() + missing.size());
  for (Connection* connection : waiting) events += admit(*connection);
  return events;
}

void TcpLink::end(Connection& connection, std::string_view why) {
  std::vector<Operation*> lost;
  bool reported = false;
  {
    const SendLock::Guard guard(lock_);
    if (connection.is(State::dead)) return;
    connection.state.store(State::dead, std::memory_order_release);
    attention_.store(true, std::memory_order_relaxed);
    const PeerId peer = connection.peer;
    if (peer < slots_.size() && slots_[peer].connection == &connection) {
      reported = !why.empty();
      slots_[peer] = {reported ? Slot::Status::broken : Slot::Status::closed, nullptr, {}};
      operations_.take_all(peer, lost);
    }
  }
  for (Operation* operation : lost) operation->done(operation, Result::unreachable);
  if (reported) sink_.on_broken(connection.peer, *this, why);
}

}  // namespace lfc::tcp
