#include "machine/local_peer.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>

#include "base/bytes.hpp"
#include "base/errors.hpp"
#include "machine/file_descriptor.hpp"

namespace lfc {
namespace {

// The number of this process's namespace of this kind; 0: /proc cannot be read.
std::uint64_t own_namespace(const char* path) noexcept {
  struct stat info {};
  return ::stat(path, &info) == 0 ? info.st_ino : 0;
}

// Whether /proc shows this process under the number that its local peers use.
bool proc_counts_alike() {
  char self[16] = {};
  return ::readlink("/proc/self", self, sizeof self - 1) > 0 && self == std::to_string(::getpid());
}

}  // namespace

std::uint64_t boot_hash() noexcept {
  std::array<std::byte, 64> text;
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.is_open() ? read(file.get(), text.data(), text.size()) : 0;
  return size <= 0 ? 0 : fnv1a(std::span(text).first(static_cast<std::size_t>(size)));
}

std::optional<ProcessSpace> own_space(std::string& why_not) {
  ProcessSpace own;
  own.boot = boot_hash();
  own.pid_namespace = own_namespace("/proc/self/ns/pid");
  own.user_namespace = own_namespace("/proc/self/ns/user");
  own.net_namespace = own_namespace("/proc/self/ns/net");
  own.user = ::geteuid();
  own.hidden = !proc_counts_alike() || ::prctl(PR_GET_DUMPABLE) != 1 ? 1 : 0;
  if (own.boot == 0) {
    why_not = "/proc does not contain the kernel's boot id";
  } else if (own.pid_namespace == 0) {
    why_not = with_errno("/proc/self/ns/pid");
  } else {
    return own;
  }
  return std::nullopt;
}

bool may_open(const ProcessSpace& own, const ProcessSpace& other) noexcept {
  return own.hidden == 0 && other.hidden == 0 && other.pid_namespace == own.pid_namespace &&
         other.user_namespace == own.user_namespace;
}

bool is_local_peer(const ProcessSpace& own, const ProcessSpace& other, std::string& why_not) {
  // Numbers of users can be compared only within one user namespace.
  const bool same_users = other.user_namespace == own.user_namespace;
  if (own.boot == 0 || other.boot != own.boot) {
    why_not = "on another node";
  } else if (same_users && other.user != own.user) {
    why_not = "belongs to another user (" + std::to_string(other.user) + ")";
  } else if (!may_open(own, other) && other.net_namespace != own.net_namespace) {
    why_not = other.pid_namespace != own.pid_namespace ? "in another pid namespace"
              : !same_users                            ? "in another user namespace"
                                                       : "not dumpable, or hidden in /proc";
    why_not += " and another network namespace";
  } else {
    return true;
  }
  return false;
}

}  // namespace lfc
