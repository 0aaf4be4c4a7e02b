// EpollSet: an epoll set of descriptors that are not read at each poll, with a timer among them. Because of the timer
// neither poll() nor the sleeping thread reads a clock.
//
//   EpollSet set;
//   if (!set.open()) complain(std::strerror(errno));
//   set.watch(socket.fd(), &connection, EPOLLIN);           // a second time: for other events
//   for (const epoll_event& event : set.ready(found)) look_at(event.data.ptr);     // &set.timer() is among them
//
// Threads: any; the kernel serialises.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <span>

#include "link/tcp/socket.hpp"
#include "link/tcp/timer.hpp"

namespace lfc::tcp {

class EpollSet {
 public:
  static constexpr std::size_t kEvents = 32;  // returned by one call
  using Found = std::array<epoll_event, kEvents>;

  // False: errno has the reason.
  bool open() noexcept;
  int fd() const noexcept { return set_.fd(); }
  // ready() returns `what` for the descriptor. False: errno has the reason.
  bool watch(int fd, void* what, std::uint32_t events) noexcept;
  bool forget(int fd) noexcept;
  // Returns the events that are pending now, without waiting.
  std::span<const epoll_event> ready(Found& found) noexcept;
  // When the timer has expired, ready() returns this address as data.
  Timer& timer() noexcept { return timer_; }

 private:
  Socket set_;  // not a socket, but a descriptor to own
  Timer timer_;
};

}  // namespace lfc::tcp
