#include "machine/host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "link/shm/segment.hpp"

namespace lfc {
namespace {

std::string with_errno(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

}  // namespace

std::uint64_t boot_hash() {
  char text[64];
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.is_open() ? read(file.get(), text, sizeof text) : 0;
  if (size <= 0) return 0;
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (ssize_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3u;
  return hash;
}

std::optional<std::uint64_t> pid_namespace(std::string& why_not) {
  char self[16] = {};
  if (readlink("/proc/self", self, sizeof self - 1) <= 0) {
    why_not = with_errno("/proc cannot be read");
  } else if (self != std::to_string(getpid())) {
    why_not = "/proc shows another pid namespace than this process's";
  } else if (struct stat info; stat("/proc/self/ns/pid", &info) != 0) {
    why_not = with_errno("/proc/self/ns/pid");
  } else {
    return info.st_ino;
  }
  return std::nullopt;
}

}  // namespace lfc
