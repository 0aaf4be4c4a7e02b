#include "machine/first_of_node.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/bytes.hpp"

namespace lfc {

bool first_of_node(std::uint32_t job, std::string_view what) noexcept {
  const int token = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (token < 0) return true;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // Byte 0 is 0: the name is in no folder, and disappears with its owner.
  std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "lfc-first.%u.%u.%016" PRIx64,
                static_cast<unsigned>(::geteuid()), static_cast<unsigned>(job),
                fnv1a(std::as_bytes(std::span(what))));
  const std::size_t size = offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name.sun_path + 1);
  if (::bind(token, reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(size)) == 0)
    return true;
  const bool taken = errno == EADDRINUSE;
  ::close(token);
  return !taken;
}

}  // namespace lfc
