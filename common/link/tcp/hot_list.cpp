#include "link/tcp/hot_list.hpp"

namespace lfc::tcp {

void HotList::promote(Connection& connection) noexcept {
  if (connection.hot || !connection.is(State::established)) return;
  if (!connections_.waiting.forget(connection.fd())) return;
  connection.hot = true;
  connection.idle = 0;
  all_.push_back(&connection);
}

void HotList::demote(Connection& connection) noexcept {
  connection.hot = false;
  std::erase(all_, &connection);
  connections_.watch(connection, EPOLLIN);
}

void HotList::demote_silent() {
  const std::vector<Connection*> all = all_;
  for (Connection* connection : all)
    if (cools(connection)) demote(*connection);
}

void HotList::forget_dead() noexcept {
  std::erase_if(all_, [](const Connection* connection) { return connection->is(State::dead); });
}

}  // namespace lfc::tcp
