#include "link/ofi/peer_probe.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lfc {
namespace {

// Other errors are local (no port left, ...) and prove nothing about the peer.
bool is_loss(int error) noexcept {
  return error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH ||
         error == ENETUNREACH || error == EHOSTDOWN;
}

}  // namespace

void PeerProbe::start(std::span<const std::byte> address) noexcept {
  if (running() || address.size() < sizeof(sa_family_t) ||
      address.size() > sizeof(sockaddr_storage))
    return;
  sockaddr_storage to{};
  std::memcpy(&to, address.data(), address.size());
  socket_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (!running()) return;
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to),
                static_cast<socklen_t>(address.size())) != 0 &&
      errno != EINPROGRESS)
    failed_ = errno;
}

void PeerProbe::stop() noexcept {
  if (running()) ::close(socket_);
  socket_ = -1;
  failed_ = 0;
}

PeerProbe::Outcome PeerProbe::poll(std::string& why) {
  if (!running()) return Outcome::none;
  int error = failed_;
  if (error == 0) {
    pollfd entry{socket_, POLLOUT, 0};
    if (::poll(&entry, 1, 0) <= 0) return Outcome::none;
    socklen_t size = sizeof error;
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  stop();
  if (!is_loss(error)) return Outcome::alive;
  why = std::strerror(error);
  return Outcome::dead;
}

}  // namespace lfc
