// Timeouts: the rare work of a tcp link's poll(). It ends connections after a failure, after their deadline, or because
// the node of their peer has vanished, and frees dead connections.
//
//   if (connections.need_attention()) events += timeouts.end_failed();
//   if (time_to_look && connections.timed()) events += timeouts.check_time(Clock::now());
//   events += timeouts.check_peers();               // the timer has expired
//
// Threads: as Link.
#pragma once

#include "link/tcp/active_connections.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/handshake.hpp"
#include "link/tcp/sending.hpp"
#include "link/tcp/unauthenticated.hpp"

namespace lfc::tcp {

class Timeouts {
 public:
  Timeouts(Connections& connections, Sending& sending, ActiveConnections& active,
           UnauthenticatedConnections& unauthenticated, Handshake& handshake)
      : connections_(connections),
        sending_(sending),
        active_(active),
        unauthenticated_(unauthenticated),
        handshake_(handshake) {}

  int end_failed();
  int check_time(Clock::time_point now);
  int check_peers();
  // Reads and drops bytes that a closed peer still sends.
  int discard(Connection& connection) noexcept;

 private:
  void free_dead() noexcept;

  Connections& connections_;
  Sending& sending_;
  ActiveConnections& active_;
  UnauthenticatedConnections& unauthenticated_;
  Handshake& handshake_;
};

}  // namespace lfc::tcp
