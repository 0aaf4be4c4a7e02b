// UnauthenticatedConnections: accepted connections that have not passed the handshake yet. Their number is limited, and
// so is the number of invalid hellos in a second. While there is room none is dropped because it is idle: its process
// may compute before it sends its hello. When places are short, one is dropped for another that waits in the kernel:
// the one that has been idle longest from an address of no member, or from a member's if there are no others. A member
// that was dropped connects again (retries.hpp). If the process has no descriptor for a waiting connection for
// `connect_timeout`, it accepts none any more.
//
//   UnauthenticatedConnections unauthenticated(connections, counters, socket_options, warning);
//   if (!unauthenticated.listen_on(address, ports, port, why_not)) return false;
//   unauthenticated.expect(ip);                         // members of the job connect from there
//   events += unauthenticated.accept();                 // a listener is readable
//   unauthenticated.drop(connection);                   // it is no peer; or
//   unauthenticated.note_authenticated(connection);     // it is a peer from now on
//
// Threads: as Link.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "link/ports.hpp"
#include "link/tcp/admission_limits.hpp"
#include "link/tcp/connections.hpp"
#include "stats/counters.hpp"

namespace lfc::tcp {

class UnauthenticatedConnections {
 public:
  // `warning`, if not null, receives the line that it gives up accepting.
  UnauthenticatedConnections(Connections& connections, Counters& counters,
                             const SocketOptions& socket_options,
                             void (*warning)(std::string_view line))
      : connections_(connections),
        counters_(counters),
        socket_options_(socket_options),
        warning_(warning) {}

  bool listen_on(const IpAddress& address, PortRange ports, std::uint16_t& port,
                 std::string& why_not);
  bool listens() const noexcept { return !listeners_.empty(); }
  void expect(const IpAddress& member) { members_.insert({member.family, member.bytes}); }
  // ready() of the epoll set returns nullptr as data of a listener.
  bool watch_listeners() noexcept;
  int accept();

  // Drops a connection with an invalid hello, which counts as a failure in AdmissionLimits.
  void refuse(Connection& connection) noexcept;
  void drop(Connection& connection) noexcept;
  void note_authenticated(Connection& connection) noexcept;
  void forget(const Connection& dead) noexcept {
    if (dead.unauthenticated) limits_.left();
  }
  // Listens again after a pause that has ended.
  void resume_when_due(Clock::time_point now) noexcept;
  bool is_paused() const noexcept { return listen_again_ != Clock::time_point::max(); }

 private:
  Connection* most_dispensable() const noexcept;
  void give_up_when_due(int error);
  bool another_waits() const noexcept;
  int make_room();
  void listen(bool on) noexcept;

  Connections& connections_;
  Counters& counters_;
  const SocketOptions& socket_options_;
  void (*const warning_)(std::string_view line);
  std::vector<Socket> listeners_;
  // Addresses of processes that were to be reached, or have passed the handshake.
  std::set<std::pair<sa_family_t, decltype(IpAddress::bytes)>> members_;
  AdmissionLimits limits_{limits::kTcpUnauthenticated};
  Clock::time_point listen_again_ = Clock::time_point::max();  // no connection is accepted before
  // Since then the process has had no descriptor or memory for a connection that waits.
  Clock::time_point lacking_since_ = Clock::time_point::max();
};

}  // namespace lfc::tcp
