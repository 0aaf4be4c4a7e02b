// ActiveConnections: the connections that carry traffic. They are read directly, one system call each; all others wait
// in the epoll set.
//
//   active.promote(connection);                                            // bytes have arrived on it
//   events += active.poll([&](Connection& each) { return receive(each); });
//   active.forget_dead();                                                  // before they are freed
//
// Threads: as Link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/connections.hpp"

namespace lfc::tcp {

class ActiveConnections {
 public:
  static constexpr std::uint32_t kIdleAfter =
      4096;  // polls without a byte after which a connection is demoted

  explicit ActiveConnections(Connections& connections) : connections_(connections) {}

  bool empty() const noexcept { return all_.empty(); }
  bool has_room() const noexcept { return all_.size() < limits::kTcpActive; }
  void promote(Connection& connection) noexcept;
  void demote(Connection& connection) noexcept;
  void demote_all() noexcept {
    while (!all_.empty()) demote(*all_.back());
  }
  void forget_dead() noexcept;

  // Calls serve(connection), which returns a number of events, for each, and demotes connections that have been idle
  // for long. Returns the sum.
  template <class Serve>
  int poll(Serve serve) {
    int events = 0;
    // By index: a callback may not poll, but receiving may promote.
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Connection& connection = *all_[i];
      const int found = serve(connection);
      connection.idle = found != 0 ? 0 : connection.idle + 1;
      events += found;
    }
    if (std::any_of(all_.begin(), all_.end(), is_idle)) [[unlikely]]
      demote_idle();
    return events;
  }

 private:
  static bool is_idle(const Connection* connection) noexcept {
    return connection->idle > kIdleAfter;
  }
  [[gnu::noinline]] void demote_idle();

  Connections& connections_;
  std::vector<Connection*> all_;
};

}  // namespace lfc::tcp
