#include "link/verbs/liveness.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace lfc::verbs {
namespace {

constexpr int kKind = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

}  // namespace

LivenessPort::~LivenessPort() {
  if (socket_ >= 0) ::close(socket_);
}

void LivenessPort::open(const IpAddress& address) noexcept {
  socket_ = ::socket(address.family, kKind, 0);
  if (socket_ < 0) return;
  const int least = 1;  // the kernel raises it to its minimum
  static_cast<void>(::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &least, sizeof least));
  sockaddr_storage own{};
  socklen_t length = address.to_sockaddr(0, own);
  auto* name = reinterpret_cast<sockaddr*>(&own);
  if (::bind(socket_, name, length) != 0 || ::getsockname(socket_, name, &length) != 0) return;
  port_ = ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&own)->sin_port
                                         : reinterpret_cast<sockaddr_in6*>(&own)->sin6_port);
}

bool LivenessProbe::refused(const IpAddress& address, std::uint16_t port) noexcept {
  if (socket_ < 0) {
    socket_ = ::socket(address.family, kKind, 0);
    sockaddr_storage there{};
    const socklen_t length = address.to_sockaddr(port, there);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&there), length) != 0) {
      stop();
      return false;
    }
  }
  return ::send(socket_, nullptr, 0, 0) < 0 && errno == ECONNREFUSED;
}

void LivenessProbe::stop() noexcept {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

}  // namespace lfc::verbs
