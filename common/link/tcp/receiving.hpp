// Receiving: the receiving half of the established connections of a tcp link. Every field is checked before it is used.
// A peer that breaks the protocol loses its connection, and nothing else happens.
//
//   Receiving receiving(connections, sending, active, sink, counters);
//   events += receiving.receive(connection);         // reads, and delivers what is complete; at most a poll's share
//
// Threads: as Link.
#pragma once

#include <span>
#include <string_view>

#include "link/link.hpp"
#include "link/tcp/active_connections.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/sending.hpp"
#include "stats/counters.hpp"

namespace lfc::tcp {

class Receiving {
 public:
  Receiving(Connections& connections, Sending& sending, ActiveConnections& active, FrameSink& sink,
            Counters& counters)
      : connections_(connections),
        sending_(sending),
        active_(active),
        sink_(sink),
        counters_(counters) {}

  int receive(Connection& connection);

 private:
  int deliver(Connection& connection, int budget);
  bool handle(Connection& connection, const Prefix& prefix, std::span<const std::byte> payload);
  bool serve_get(Connection& connection, const BulkHead& head);
  bool finish_operation(Connection& connection, const Reply& reply);
  bool begin_landing(Connection& connection, const Prefix& prefix, const BulkHead& head);
  void land_buffered(Connection& connection);
  Inbox::Got land_directly(Connection& connection);
  void landed(Connection& connection, std::size_t size);
  bool reply(Connection& connection, OpRef operation, Result result);
  void complete(Connection& connection, OpRef operation, Result result);
  void violation(Connection& connection, std::string_view what);

  Connections& connections_;
  Sending& sending_;
  ActiveConnections& active_;
  FrameSink& sink_;
  Counters& counters_;
};

}  // namespace lfc::tcp
