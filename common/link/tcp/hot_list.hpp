// HotList: the connections that carry traffic. They are read directly, one system call each; all others wait in the
// epoll set.
//
//   hot.promote(connection);                                         // something has come on it
//   events += hot.poll([&](Connection& each) { return receive(each); });
//   hot.forget_dead();                                               // before they are freed
//
// Threads: the poller's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/connections.hpp"

namespace lfc::tcp {

class HotList {
 public:
  static constexpr std::uint32_t kColdAfter =
      4096;  // polls without a byte until one is no longer hot

  explicit HotList(Connections& connections) : connections_(connections) {}

  bool empty() const noexcept { return all_.empty(); }
  bool has_room() const noexcept { return all_.size() < limits::kTcpHot; }
  void promote(Connection& connection) noexcept;
  void demote(Connection& connection) noexcept;
  void demote_all() noexcept {
    while (!all_.empty()) demote(*all_.back());
  }
  void forget_dead() noexcept;

  // Calls serve(connection), which says how many events there were, for each; who has been silent for long goes.
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
    if (std::any_of(all_.begin(), all_.end(), cools)) [[unlikely]]
      demote_silent();
    return events;
  }

 private:
  static bool cools(const Connection* connection) noexcept { return connection->idle > kColdAfter; }
  [[gnu::noinline]] void demote_silent();

  Connections& connections_;
  std::vector<Connection*> all_;
};

}  // namespace lfc::tcp
