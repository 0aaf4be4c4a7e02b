#include "machine/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include "base/errors.hpp"

namespace lfc {
namespace {

std::string path_of(std::uint32_t pid, int fd) {
  return "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string target_of(std::uint32_t pid, int fd) {
  std::array<char, 128> target{};
  const ssize_t size = ::readlink(path_of(pid, fd).c_str(), target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

FileDescriptor open_of_process(std::uint32_t pid, int fd, std::string_view expected,
                               std::string& why_not) {
  const std::string path = path_of(pid, fd);
  // Read the target before opening: another kind of file could block or have side effects.
  const std::string target = target_of(pid, fd);
  if (target.empty()) {
    why_not = with_errno(path);
    return FileDescriptor{};
  }
  if (!target.starts_with(expected)) {
    why_not = path + ": is " + target + ", not " + std::string(expected);
    errno = EINVAL;
    return FileDescriptor{};
  }
  // Meanwhile it may have become another file; the flags keep it from blocking and from becoming our terminal.
  FileDescriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!opened.is_open()) why_not = with_errno(path);
  return opened;
}

void permit_descriptors(std::size_t count) noexcept {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= count) return;
  files.rlim_cur = files.rlim_max;
  // If that is not enough, the user gets an error when a descriptor is missing.
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace lfc
