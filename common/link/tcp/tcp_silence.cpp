// Hosts that vanish: a timer in the epoll set, so that neither poll() nor whoever sleeps looks at a clock for it.
#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100);
}

std::string no_answer(const Connection& connection, std::chrono::milliseconds lasts,
                      const char* meanwhile) {
  return connection.ends() + ": its host has not answered for " + seconds(lasts) + " s, " +
         meanwhile + " (is it down, or the cable cut, or does a firewall drop packets?)";
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
    end(*connection,
        no_answer(*connection, connection->silence.lasts(), "although data is on its way to it"));
  return static_cast<int>(silent.size());
}

// The kernel noticed by itself: its keep-alive watches connections on which nothing is on its way.
void TcpLink::end_with_errno(Connection& connection, int error) {
  end(connection, error == ETIMEDOUT ? no_answer(connection, options_.peer_timeout,
                                                 "although the kernel has asked it again and again")
                                     : connection.ends() + ": " + std::strerror(error));
}

}  // namespace lfc::tcp
