#include "link/tcp/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lfc::tcp {
namespace {

// A host that vanishes is noticed after about 40 s, also when nothing is being sent to it.
constexpr int kKeepIdle = 10;
constexpr int kKeepInterval = 5;
constexpr int kKeepCount = 6;

void set(int fd, int level, int option, int value) noexcept {
  // An option that the kernel refuses costs speed, not correctness.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

void tune(int fd, int send_buffer, int receive_buffer) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
  if (send_buffer > 0) set(fd, SOL_SOCKET, SO_SNDBUF, send_buffer);
  if (receive_buffer > 0) set(fd, SOL_SOCKET, SO_RCVBUF, receive_buffer);
}

Socket open(sa_family_t family) noexcept {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

std::string error_text(const char* call, const IpAddress& address) {
  return std::string(call) + " " + address.text() + ": " + std::strerror(errno);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket Socket::listening(const IpAddress& address, std::uint16_t first, std::uint16_t last,
                         std::uint16_t& port, std::string& why) {
  Socket socket = open(address.family);
  if (!socket) {
    why = error_text("socket for", address);
    return {};
  }
  set(socket.fd(), SOL_SOCKET, SO_REUSEADDR, first != 0 ? 1 : 0);
  if (address.family == AF_INET6) set(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  sockaddr_storage name;
  bool bound = false;
  for (unsigned number = first; number <= last && !bound; ++number) {
    const socklen_t length = address.to_sockaddr(static_cast<std::uint16_t>(number), name);
    bound = ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&name), length) == 0 &&
            ::listen(socket.fd(), SOMAXCONN) == 0;
    if (!bound && errno != EADDRINUSE) break;
  }
  socklen_t length = sizeof name;
  if (!bound || ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    why = error_text("listening on", address);
    if (first != 0) why += " (ports " + std::to_string(first) + " to " + std::to_string(last) + ")";
    return {};
  }
  // The port is at the same place for both families.
  port = ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
  return socket;
}

Socket Socket::connecting(const IpAddress& from, const IpAddress& to, std::uint16_t port,
                          int send_buffer, int receive_buffer, std::string& why) {
  Socket socket = open(to.family);
  if (!socket) {
    why = error_text("socket for", to);
    return {};
  }
  tune(socket.fd(), send_buffer, receive_buffer);
  // The port is chosen at connect(): so one port serves connections to many peers.
  set(socket.fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  sockaddr_storage name;
  socklen_t length = from.to_sockaddr(0, name);
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    why = error_text("connecting from", from);
    return {};
  }
  IpAddress target = to;
  target.scope = from.scope;
  length = target.to_sockaddr(port, name);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&name), length) != 0 &&
      errno != EINPROGRESS) {
    why = error_text("connecting to", to);
    return {};
  }
  return socket;
}

Socket Socket::accepted(int send_buffer, int receive_buffer) const noexcept {
  Socket socket(::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) tune(socket.fd(), send_buffer, receive_buffer);
  return socket;
}

int Socket::pending_error() const noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

}  // namespace lfc::tcp
