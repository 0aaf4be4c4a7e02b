// Handshake: mutual authentication of connections until they are established. An accepted connection has no effect
// before its hello has been checked (link/proof.hpp). One without a proper hello is dropped and counted.
//
//   if (!handshake.connect(peer, address, why_not)) ...      // ours: connecting -> hello_sent -> established
//   events += handshake.finish_connect(connection);          // the socket is writable
//   events += handshake.receive_reply(connection);           // hello_ack or goodbye
//   events += handshake.connect_late(connection);            // its deadline has passed
//   events += handshake.receive_hello(connection);           // the peer's: accepted -> waiting -> established
//
// When two processes connect to each other at once, the connection of the process with the lower name stays. That
// process replies to the other's hello with goodbye; the other ends its own connection as soon as it sees either.
// A connection of ours that ends before it is established is made again (retries.hpp). Its peer is lost if its
// node refuses the connection, cannot be reached, or does not reply within connect_timeout.
// Threads: as Link.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "link/link.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/routes.hpp"
#include "link/tcp/sending.hpp"
#include "link/tcp/unauthenticated.hpp"

namespace lfc::tcp {

class Handshake {
 public:
  // The parts of its link, and the identity of the link.
  struct Parts {
    Connections& connections;
    Sending& sending;
    UnauthenticatedConnections& unauthenticated;
    const Routes& routes;
    Link& link;
    FrameSink& sink;
    Counters& counters;
    const Identity& identity;
    const SocketOptions& socket_options;
    const IpAddress& own_ip;
    void (*notice)(std::string_view line);
  };
  explicit Handshake(const Parts& parts) : it_(parts) {}

  bool connect(PeerId peer, const Address& address, std::string& why_not);
  int finish_connect(Connection& connection);
  int receive_reply(Connection& connection);
  int receive_hello(Connection& connection);
  // Establishes a `waiting` connection once no older connection to the same process exists. Returns the number of
  // events.
  int admit(Connection& connection);
  // The deadline of a `connecting` or `paused` connection has passed. First the socket is examined, because this
  // process may have been absent.
  int connect_late(Connection& connection);
  void end_with_errno(Connection& connection, int error);

 private:
  bool begin(Connection& connection, std::string& why_not);
  void connect_again(Connection& connection, bool counts, Retries::Duration least = {});
  void check_hello(Connection& connection, std::span<const std::byte> hello);
  Connection* find_other(const Connection& connection) noexcept;
  void establish(Connection& connection);
  void queue_header(Connection& connection, FrameType type, std::uint32_t key,
                    std::span<const std::byte> payload);

  const Parts it_;
  std::vector<Key> accepted_nonces_;  // nonces of accepted hellos
};

}  // namespace lfc::tcp
