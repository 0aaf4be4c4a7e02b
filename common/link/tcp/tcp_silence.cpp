// Hosts that vanish: a timer in the epoll set, so that neither poll() nor whoever sleeps looks at a clock for it.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

timespec to_timespec(std::chrono::milliseconds time) noexcept {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<long>(time.count() % 1000 * 1'000'000)};
}

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100);
}

}  // namespace

bool TcpLink::open_timer(std::string& why_not) {
  timer_ = Socket(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &timer_;
  if (timer_ && ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, timer_.fd(), &event) == 0) return true;
  why_not = std::string("timer: ") + std::strerror(errno);
  return false;
}

// While there are connections.
void TcpLink::set_timer(bool on) noexcept {
  const timespec period =
      on ? to_timespec(std::max(Silence::interval(options_.peer_timeout), Silence::Duration(1)))
         : timespec{};
  const itimerspec timer{period, period};
  static_cast<void>(::timerfd_settime(timer_.fd(), 0, &timer, nullptr));
}

int TcpLink::look_after_peers() {
  std::uint64_t rounds = 0;
  if (::read(timer_.fd(), &rounds, sizeof rounds) < 0) return 0;
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
    if (connections_.empty()) set_timer(false);
  }
  for (Connection* connection : silent)
    end(*connection, describe(*connection) + ": its host has not answered for " +
                         seconds(connection->silence.lasts()) +
                         " s, although data is on its way to it from " +
                         options_.interface.address.text() +
                         " (is it down, or the cable cut, or does a firewall drop packets?)");
  return static_cast<int>(silent.size());
}

}  // namespace lfc::tcp
