#include "link/tcp/unauthenticated.hpp"

#include <algorithm>
#include <cerrno>

#include "base/errors.hpp"

namespace lfc::tcp {
namespace {

// Time that an idle unauthenticated connection keeps its place while others wait for it.
constexpr std::chrono::milliseconds kGrace{100};

bool lacks_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

bool UnauthenticatedConnections::listen_on(const IpAddress& address, PortRange ports,
                                           std::uint16_t& port, std::string& why_not) {
  Socket listener = Socket::listening(address, ports, port, why_not);
  if (!listener) return false;
  listeners_.push_back(std::move(listener));
  return true;
}

bool UnauthenticatedConnections::watch_listeners() noexcept {
  return std::all_of(listeners_.begin(), listeners_.end(), [&](const Socket& listener) {
    return connections_.waiting.watch(listener.fd(), nullptr, EPOLLIN);
  });
}

int UnauthenticatedConnections::accept() {
  if (listeners_.empty()) return 0;
  int accepted = 0;
  if (limits_.has_failures()) limits_.forget(Clock::now());
  std::size_t which = 0;
  while (limits_.is_room()) {
    Socket socket = listeners_[which].accepted(socket_options_);
    if (!socket && lacks_resources(errno)) {
      give_up_when_due(errno);
      break;
    }
    if (!socket && ++which < listeners_.size()) continue;
    lacking_since_ = Clock::time_point::max();
    if (!socket) return accepted;
    ++accepted;
    Connection& connection = connections_.adopt(std::move(socket), State::accepted);
    connection.unauthenticated = true;
    limits_.came();
    connection.since = Clock::now();
    connection.caller = connection.socket.peer_address();
    connections_.watch(connection, EPOLLIN);
  }
  return another_waits() ? accepted + make_room() : accepted;
}

// A peer that connects waits as long as it is not accepted. So after `connect_timeout` the listeners are closed, and it
// gets an error.
void UnauthenticatedConnections::give_up_when_due(int error) {
  const Clock::time_point now = Clock::now();
  lacking_since_ = std::min(lacking_since_, now);
  if (now - lacking_since_ < connections_.options.connect_timeout) return;
  if (warning_ != nullptr)
    warning_(
        with_errno("tcp accepts no connections any more, after it could accept none "
                   "for some seconds",
                   error));
  listeners_.clear();
}

bool UnauthenticatedConnections::another_waits() const noexcept {
  return std::any_of(listeners_.begin(), listeners_.end(),
                     [](const Socket& listener) { return listener.is_ready(); });
}

// A connection with unread bytes is not idle. Null: all have some.
Connection* UnauthenticatedConnections::most_dispensable() const noexcept {
  Connection* found = nullptr;
  bool found_member = false;
  for (const auto& connection : connections_.all()) {
    if (!connection->is(State::accepted) || connection->socket.has_bytes()) continue;
    const auto& caller = connection->caller;
    const bool is_member = caller && members_.contains({caller->family, caller->bytes});
    if (found != nullptr &&
        std::pair(found_member, found->since) <= std::pair(is_member, connection->since))
      continue;
    found = connection.get();
    found_member = is_member;
  }
  return found;
}

// Makes room for connections that wait to be accepted: drops the most dispensable one, if it has been idle for kGrace.
// Until then the listeners are not watched, because they would be readable at every poll. If too many hellos were
// invalid in the last second, only time makes room.
int UnauthenticatedConnections::make_room() {
  const Clock::time_point now = Clock::now();
  Connection* const idle = limits_.has_too_many_failures() ? nullptr : most_dispensable();
  if (idle != nullptr && idle->since + kGrace <= now) {
    drop(*idle);
    return 1;
  }
  listen_again_ = now + kGrace;
  connections_.note_deadline();
  listen(false);
  return 0;
}

void UnauthenticatedConnections::listen(bool on) noexcept {
  for (const Socket& listener : listeners_)
    static_cast<void>(connections_.waiting.watch(listener.fd(), nullptr, on ? EPOLLIN : 0u));
}

void UnauthenticatedConnections::resume_when_due(Clock::time_point now) noexcept {
  if (listen_again_ > now) return;
  listen_again_ = Clock::time_point::max();
  listen(true);
}

void UnauthenticatedConnections::refuse(Connection& connection) noexcept {
  limits_.failed(Clock::now());
  drop(connection);
}

void UnauthenticatedConnections::drop(Connection& connection) noexcept {
  counters_.add(Counter::frames_dropped);
  connections_.kill(connection);
}

void UnauthenticatedConnections::note_authenticated(Connection& connection) noexcept {
  if (connection.unauthenticated) limits_.left();
  connection.unauthenticated = false;
  if (connection.caller) expect(*connection.caller);
}

}  // namespace lfc::tcp
