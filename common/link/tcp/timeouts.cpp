#include "link/tcp/timeouts.hpp"

#include <array>
#include <cerrno>

namespace lfc::tcp {

int Timeouts::discard(Connection& connection) noexcept {
  std::array<std::byte, 4 * 1024> waste;
  for (int round = 0; round < 64; ++round) {
    const ssize_t got = ::recv(connection.fd(), waste.data(), waste.size(), MSG_DONTWAIT);
    if (got > 0) continue;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) connections_.kill(connection);
    return 0;
  }
  return 1;
}

// Finishes the work that send(), close() and the rest of poll() have deferred: failed and closing connections,
// cancelled operations.
int Timeouts::end_failed() {
  connections_.clear_attention();
  const std::vector<Operation*> cancelled = connections_.take_cancelled();
  std::vector<std::pair<Connection*, int>> failed;
  for (const auto& connection : connections_.all()) {
    if (connection->is(State::dead)) continue;
    if (connection->error != 0) failed.emplace_back(connection.get(), connection->error);
    if (connection->is(State::closing) && connection->out.idle() && !connection->shut) {
      connection->shut = true;
      connection->deadline = Clock::now() + connections_.options.connect_timeout;
      connections_.note_deadline();
      ::shutdown(connection->fd(), SHUT_WR);
    }
  }
  for (const auto& [connection, error] : failed) handshake_.end_with_errno(*connection, error);
  for (Operation* operation : cancelled) operation->done(operation, Result::unreachable);
  free_dead();
  return static_cast<int>(failed.size() + cancelled.size());
}

// Frees dead connections. Only here, so that no pointer outlives a round of poll().
void Timeouts::free_dead() noexcept {
  active_.forget_dead();
  sending_.forget_dead();
  connections_.free_dead([this](const Connection& dead) { unauthenticated_.forget(dead); });
}

int Timeouts::check_time(Clock::time_point now) {
  std::vector<Connection*> late;
  std::vector<Connection*> waiting;
  unauthenticated_.resume_when_due(now);
  for (const auto& connection : connections_.all()) {
    if (!Connections::needs_time(*connection)) continue;
    if (connection->is(State::waiting)) {
      waiting.push_back(connection.get());
    } else if (connection->deadline <= now) {
      late.push_back(connection.get());
    }
  }
  connections_.note_deadlines(unauthenticated_.is_paused());
  int events = 0;
  for (Connection* connection : late) {
    if (connection->is(State::closing)) {
      discard(*connection);
      connections_.end(*connection, {});
      ++events;
    } else {
      events += handshake_.connect_late(*connection);
    }
  }
  for (Connection* connection : waiting) events += handshake_.admit(*connection);
  return events;
}

// A timer in the epoll set triggers it, so neither poll() nor the sleeping thread reads a clock for it.
int Timeouts::check_peers() {
  if (!connections_.waiting.timer().rang()) return 0;
  const Clock::time_point now = Clock::now();
  std::vector<Connection*> silent;
  for (const auto& connection : connections_.all()) {
    const bool counts = connection->is(State::hello_sent) || connection->is(State::established) ||
                        connection->is(State::closing);
    if (counts && connection->silence.look(now, connection->socket.vital_signs(),
                                           connections_.options.peer_timeout))
      silent.push_back(connection.get());
  }
  if (connections_.all().empty()) connections_.waiting.timer().run(Silence::Duration(0));
  for (Connection* connection : silent)
    connections_.end(*connection, no_reply_text(*connection, connection->silence.lasts(),
                                                "although data is on its way to it"));
  return static_cast<int>(silent.size());
}

}  // namespace lfc::tcp
