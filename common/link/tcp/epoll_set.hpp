// EpollSet: the descriptors that are waited for, or asked now and then, instead of being read again and again, and a
// timer among them, so that nobody has to look at a clock.
//
//   EpollSet set;
//   if (!set.open()) complain(std::strerror(errno));
//   set.watch(socket.fd(), &connection, EPOLLIN);           // a second time: for other events
//   for (const epoll_event& event : set.ready(found)) look_at(event.data.ptr);     // &set.timer() is among them
//
// Threads: any, as the kernel serialises.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <span>

#include "link/tcp/socket.hpp"
#include "link/tcp/timer.hpp"

namespace lfc::tcp {

class EpollSet {
 public:
  static constexpr std::size_t kEvents = 32;  // told at once
  using Found = std::array<epoll_event, kEvents>;

  // False: errno says why.
  bool open() noexcept;
  int fd() const noexcept { return set_.fd(); }
  // `what` comes back from ready(). False: errno says why.
  bool watch(int fd, void* what, std::uint32_t events) noexcept;
  bool forget(int fd) noexcept;
  // What there is something for, without waiting.
  std::span<const epoll_event> ready(Found& found) noexcept;
  // Is among what ready() tells, under this very address, when it has rung.
  Timer& timer() noexcept { return timer_; }

 private:
  Socket set_;  // not a socket, but a descriptor to own
  Timer timer_;
};

}  // namespace lfc::tcp
