#include "machine/process_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lfc {

ProcessWatch::ProcessWatch(std::uint32_t pid) noexcept
    : pid_(pid), fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

bool ProcessWatch::dead() const noexcept {
  if (!fd_.is_open()) return kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
  pollfd question{fd_.get(), POLLIN, 0};
  return poll(&question, 1, 0) > 0;
}

}  // namespace lfc
