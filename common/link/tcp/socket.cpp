#include "link/tcp/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lfc::tcp {
namespace {

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44  // Linux 6.15
#endif

void set(int fd, int level, int option, int value) noexcept {
  // An option that the kernel refuses costs speed, not correctness.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

// Keep-alive notices a node that vanishes while nothing is under way to it; else see silence.hpp.
void tune(int fd, const SocketOptions& options) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  const int timeout_s = static_cast<int>(options.keep_alive.count());
  const int idle = std::max(1, timeout_s / 4);
  const int interval = std::max(1, timeout_s / 8);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, std::max(1, (timeout_s - idle) / interval));
  // A window that stays closed is probed ever more rarely; without this, up to two minutes apart.
  set(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, std::clamp(timeout_s * 1000 / 4, 1000, 120'000));
  if (options.send_buffer > 0) set(fd, SOL_SOCKET, SO_SNDBUF, options.send_buffer);
  if (options.receive_buffer > 0) set(fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
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

Socket Socket::listening(const IpAddress& address, PortRange ports, std::uint16_t& port,
                         std::string& why) {
  Socket socket;
  sockaddr_storage name;
  bool listens = false;
  for (unsigned number = ports.first; number <= ports.last && !listens; ++number) {
    // A new socket for each: one that is bound to a port on which another listens stays bound to it.
    socket = open(address.family);
    if (!socket) break;
    set(socket.fd(), SOL_SOCKET, SO_REUSEADDR, ports.first != 0 ? 1 : 0);
    if (address.family == AF_INET6) set(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    const socklen_t length = address.to_sockaddr(static_cast<std::uint16_t>(number), name);
    listens = ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&name), length) == 0 &&
              ::listen(socket.fd(), SOMAXCONN) == 0;
    if (!listens && errno != EADDRINUSE && errno != EACCES) break;
  }
  socklen_t length = sizeof name;
  if (!listens || ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    why = error_text("listening on", address);
    if (ports.first != 0)
      why += " (ports " + std::to_string(ports.first) + " to " + std::to_string(ports.last) +
             "; each process of this node needs one on each of its interfaces)";
    return {};
  }
  // The port is at the same place for both families.
  port = ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
  return socket;
}

Socket Socket::connecting(const IpAddress& from, const IpAddress& to, std::uint16_t port,
                          const SocketOptions& options, std::string& why) {
  Socket socket = open(to.family);
  if (!socket) {
    why = error_text("socket for", to);
    return {};
  }
  tune(socket.fd(), options);
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

Socket Socket::accepted(const SocketOptions& options) const noexcept {
  Socket socket(::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) tune(socket.fd(), options);
  return socket;
}

int Socket::pending_error() const noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

bool Socket::has_bytes() const noexcept {
  char byte;
  return ::recv(fd_, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool Socket::is_closed() const noexcept {
  char byte;
  return ::recv(fd_, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool Socket::is_ready() const noexcept {
  pollfd question{fd_, POLLIN | POLLOUT, 0};
  return ::poll(&question, 1, 0) > 0;
}

std::optional<IpAddress> Socket::peer_address() const noexcept {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (::getpeername(fd_, address, &length) != 0) return std::nullopt;
  return IpAddress::from(address);
}

namespace {

tcp_info info_of(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  return info;
}

}  // namespace

VitalSigns Socket::vital_signs() const noexcept {
  const tcp_info info = info_of(fd_);
  return {info.tcpi_probes, info.tcpi_retransmits,
          std::chrono::milliseconds(info.tcpi_last_ack_recv)};
}

std::chrono::milliseconds Socket::since_received() const noexcept {
  const tcp_info info = info_of(fd_);
  return std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
}

}  // namespace lfc::tcp
