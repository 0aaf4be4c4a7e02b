// LivenessPort: whether a process that does not answer is still there. The kernel of its node knows.
//
//   LivenessPort door;
//   door.open(our_ip);                                  // its port() goes into our address
//   LivenessProbe probe;                                        // at another process's
//   if (knock.refused(ip, port)) give_up();             // asked now and then
//
// A door is a socket for datagrams that nobody reads. What is sent to it vanishes while its process lives, whatever
// that does, and is refused when it has ended. Nothing overflows, and nobody has to serve it. Where no refusal comes
// through (a node that is off, a firewall that drops), a process counts as alive; a firewall that refuses is taken for
// its end.
#pragma once

#include <cstdint>

#include "link/interfaces.hpp"

namespace lfc::verbs {

class LivenessPort {
 public:
  LivenessPort() = default;
  ~LivenessPort();
  LivenessPort(const LivenessPort&) = delete;
  LivenessPort& operator=(const LivenessPort&) = delete;
  // Without one, which is no error, port() is 0.
  void open(const IpAddress& address) noexcept;
  std::uint16_t port() const noexcept { return port_; }

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

class LivenessProbe {
 public:
  LivenessProbe() = default;
  ~LivenessProbe() { stop(); }
  LivenessProbe(const LivenessProbe&) = delete;
  LivenessProbe& operator=(const LivenessProbe&) = delete;
  // Knocks; true: an earlier knock was refused.
  bool refused(const IpAddress& address, std::uint16_t port) noexcept;
  void stop() noexcept;

 private:
  int socket_ = -1;
};

}  // namespace lfc::verbs
