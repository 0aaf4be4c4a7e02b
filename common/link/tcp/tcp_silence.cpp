// Hosts that vanish: a timer in the epoll set, so that neither poll() nor whoever sleeps looks at a clock for it.
#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100);
}

}  // namespace

int TcpLink::look_after_peers() {
  if (!timer_.rang()) return 0;
  const Clock::time_point now = Clock::now();
  std::vector<Connection*> silent;
  {
    const SendLock::Guard guard(lock_);
    for (const auto& connection : connections_) {
      const bool counts = connection->is(State::hello_sent) || connection->is(State::established) ||
                          connection->is(State::closing);
      if (counts &&
          connection->silence.look(now, connection->socket.vital_signs(), options_.peer_timeout))
        silent.push_back(connection.get());
    }
    if (connections_.empty()) timer_.run(Silence::Duration(0));
  }
  for (Connection* connection : silent)
    end(*connection, connection->ends() + ": its host has not answered for " +
                         seconds(connection->silence.lasts()) +
                         " s, although data is on its way to it (is it down, or the cable cut, or "
                         "does a firewall drop packets?)");
  return static_cast<int>(silent.size());
}

}  // namespace lfc::tcp
