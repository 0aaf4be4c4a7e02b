#include "machine/process_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/lasting.hpp"

namespace lfc {
namespace {

using Process = std::shared_ptr<const FileDescriptor>;

bool has_ended(const FileDescriptor& process) noexcept {
  pollfd question{process.get(), POLLIN, 0};
  return ::poll(&question, 1, 0) > 0;
}

Process open_process(std::uint32_t pid) {
  FileDescriptor opened(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return opened.is_open() ? std::make_shared<const FileDescriptor>(std::move(opened)) : nullptr;
}

// The pidfd that other watches use, unless it is that of an earlier process with this pid.
Process shared_process(std::uint32_t pid) {
  static std::mutex mutex;
  static Lasting<std::unordered_map<std::uint32_t, std::weak_ptr<const FileDescriptor>>> watched;
  const std::lock_guard guard(mutex);
  if (const auto known = watched->find(pid); known != watched->end())
    if (Process process = known->second.lock(); process != nullptr && !has_ended(*process))
      return process;
  Process process = open_process(pid);
  std::erase_if(*watched, [](const auto& entry) { return entry.second.expired(); });
  if (process != nullptr) (*watched)[pid] = process;
  return process;
}

}  // namespace

ProcessWatch::ProcessWatch(std::uint32_t pid) noexcept : pid_(pid), process_(shared_process(pid)) {}

ProcessWatch::ProcessWatch(FileDescriptor process)
    : pid_(0),
      process_(process.is_open() ? std::make_shared<const FileDescriptor>(std::move(process))
                                 : nullptr) {}

bool ProcessWatch::dead() const noexcept {
  if (process_ != nullptr) return has_ended(*process_);
  return pid_ != 0 && ::kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
}

}  // namespace lfc
