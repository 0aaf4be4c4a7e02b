// Socket: owns a descriptor, and the few calls that make one. All sockets are non-blocking.
//
//   Socket listener = Socket::listening(address, first_port, last_port, port, why);
//   Socket client = Socket::connecting(local, remote, remote_port, 0, 0, why);   // 0: the system's buffers
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "link/interfaces.hpp"

namespace lfc::tcp {

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

  // Listens on the first free port of the range (0: any port) and says which one it is.
  static Socket listening(const IpAddress& address, std::uint16_t first, std::uint16_t last,
                          std::uint16_t& port, std::string& why);
  // Begins to connect from one address to another; when that is done the socket is writable.
  static Socket connecting(const IpAddress& from, const IpAddress& to, std::uint16_t port,
                           int send_buffer, int receive_buffer, std::string& why);
  // The next connection of a listener, or none. Sets the same options as connecting().
  Socket accepted(int send_buffer, int receive_buffer) const noexcept;
  // The error that ended a connection attempt, or 0.
  int pending_error() const noexcept;

 private:
  int fd_ = -1;
};

}  // namespace lfc::tcp
