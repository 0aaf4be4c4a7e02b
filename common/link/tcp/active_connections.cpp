#include "link/tcp/active_connections.hpp"

namespace lfc::tcp {

void ActiveConnections::promote(Connection& connection) noexcept {
  if (connection.active || !connection.is(State::established)) return;
  if (!connections_.waiting.forget(connection.fd())) return;
  connection.active = true;
  connection.idle = 0;
  all_.push_back(&connection);
}

void ActiveConnections::demote(Connection& connection) noexcept {
  connection.active = false;
  std::erase(all_, &connection);
  connections_.watch(connection, EPOLLIN);
}

void ActiveConnections::demote_idle() {
  const std::vector<Connection*> all = all_;
  for (Connection* connection : all)
    if (is_idle(connection)) demote(*connection);
}

void ActiveConnections::forget_dead() noexcept {
  std::erase_if(all_, [](const Connection* connection) { return connection->is(State::dead); });
}

}  // namespace lfc::tcp
