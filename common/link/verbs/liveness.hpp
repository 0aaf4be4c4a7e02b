// Liveness: a test, by the kernel of a peer's node, whether a process that does not reply is still running.
//
//   LivenessPort own;
//   own.open(our_ip);                                   // its port() goes into our address
//   LivenessProbe probe;                                // of another process
//   if (probe.refused(ip, port)) give_up();             // called now and then
//
// A LivenessPort is a UDP socket that is never read. While its process runs, the kernel drops datagrams to it; when the
// process has ended, the kernel refuses them. Nothing overflows, and no thread serves it. If no refusal comes through
// (a node that is off, a firewall that drops), the process counts as running. A firewall that refuses is taken for its
// end.
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
  // If no socket can be opened, which is no error, port() is 0.
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
  // Sends a probe. True: the kernel refused an earlier one. Does not wait.
  bool refused(const IpAddress& address, std::uint16_t port) noexcept;
  void stop() noexcept;

 private:
  int socket_ = -1;
};

}  // namespace lfc::verbs
