// Timer: a descriptor for an epoll set that becomes readable at intervals.
//
//   Timer timer;
//   if (!timer.open()) complain(std::strerror(errno));
//   timer.run(period);                       // 0: stops
//   if (timer.rang()) check_peers();         // the descriptor was readable: timer.fd()
#pragma once

#include <chrono>

#include "link/tcp/socket.hpp"

namespace lfc::tcp {

class Timer {
 public:
  bool open() noexcept;
  void run(std::chrono::milliseconds period) noexcept;
  bool rang() noexcept;
  int fd() const noexcept { return descriptor_.fd(); }

 private:
  Socket descriptor_;
};

}  // namespace lfc::tcp
