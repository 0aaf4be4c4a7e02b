#include "machine/neighbour.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>

#include "base/bytes.hpp"
#include "base/errors.hpp"
#include "machine/file_descriptor.hpp"

namespace lfc {
namespace {

// The inode of the pid namespace that /proc shows, if that is the one this process counts in.
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

}  // namespace

std::uint64_t boot_hash() noexcept {
  std::array<std::byte, 64> text;
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.is_open() ? read(file.get(), text.data(), text.size()) : 0;
  return size <= 0 ? 0 : fnv1a(std::span(text).first(static_cast<std::size_t>(size)));
}

std::optional<ProcessSpace> own_space(std::string& why_not) {
  const std::optional<std::uint64_t> numbers = pid_namespace(why_not);
  if (!numbers) return std::nullopt;
  const ProcessSpace own{boot_hash(), *numbers, geteuid()};
  if (own.boot != 0) return own;
  why_not = "the kernel's boot id cannot be read";
  return std::nullopt;
}

bool is_neighbour(const ProcessSpace& own, const ProcessSpace& other, std::string& why_not) {
  if (own.boot == 0 || other.boot != own.boot) {
    why_not = "on another host";
  } else if (other.pid_namespace != own.pid_namespace) {
    why_not = "in another pid namespace";
  } else if (other.user != own.user) {
    why_not = "belongs to another user (" + std::to_string(other.user) + ")";
  } else {
    return true;
  }
  return false;
}

}  // namespace lfc
