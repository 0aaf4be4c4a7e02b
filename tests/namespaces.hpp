// Moves this process into a new user namespace, as a container does; the kernel's user id stays the same.
//
//   if (!enter_user_namespace()) return skip;        // the kernel does not permit it
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <string>
#include <string_view>

inline bool write_file(const char* path, std::string_view text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// The user id stays the same inside. Only for a process with one thread.
inline bool enter_user_namespace() {
  const std::string user = std::to_string(::geteuid());
  return ::unshare(CLONE_NEWUSER) == 0 &&
         write_file("/proc/self/uid_map", user + " " + user + " 1");
}
