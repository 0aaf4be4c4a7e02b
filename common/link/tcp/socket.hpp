// Socket: owns a descriptor, and the few calls that make one. All sockets are non-blocking.
//
//   Socket listener = Socket::listening(address, ports, port, why);
//   SocketOptions options;
//   Socket client = Socket::connecting(local, remote, remote_port, options, why);
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "link/interfaces.hpp"
#include "link/ports.hpp"
#include "link/tcp/silence.hpp"

namespace lfc::tcp {

struct SocketOptions {
  int send_buffer = 0;  // bytes; 0 or less: as the kernel sees fit
  int receive_buffer = 0;
  // Time without a packet from the peer after which the kernel ends an idle connection (keep-alive).
  std::chrono::seconds keep_alive{60};
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  // Listens on the first free port of the range and sets `port` to it.
  static Socket listening(const IpAddress& address, PortRange ports, std::uint16_t& port,
                          std::string& why);
  // Begins to connect from one address to another; when that is done the socket is writable.
  static Socket connecting(const IpAddress& from, const IpAddress& to, std::uint16_t port,
                           const SocketOptions& options, std::string& why);
  // Accepts the next connection of a listener, or returns an empty Socket. Sets the same options as connecting().
  Socket accepted(const SocketOptions& options) const noexcept;
  // The error that ended a connection attempt, or 0.
  int pending_error() const noexcept;
  // Whether received bytes have not been read yet.
  bool has_bytes() const noexcept;
  // Whether the peer has closed the connection, and no byte is left to read.
  bool is_closed() const noexcept;
  // Whether a connection attempt has ended, or a listener has a connection to accept.
  bool is_ready() const noexcept;
  VitalSigns vital_signs() const noexcept;
  // Time since the last packet of the peer by the kernel's count, also for a connection that has ended.
  std::chrono::milliseconds since_received() const noexcept;
  std::optional<IpAddress> peer_address() const noexcept;

 private:
  int fd_ = -1;
};

}  // namespace lfc::tcp
