#include "machine/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/bytes.hpp"
#include "base/errors.hpp"
#include "machine/hand_over.hpp"
#include "machine/process_watch.hpp"

namespace lfc {
namespace {

constexpr char kOurs[] = "/memfd:lfc-";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

std::string file_name(const std::array<std::uint64_t, 2>& cookie) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "lfc-%016llx%016llx",
                static_cast<unsigned long long>(cookie[0]),
                static_cast<unsigned long long>(cookie[1]));
  return text.data();
}

// The kernel would not only refuse a file above the process's own limit, but end the process (SIGXFSZ).
bool resize(int fd, std::size_t size) noexcept {
  rlimit file{};
  if (::getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur < size) {
    errno = EFBIG;
    return false;
  }
  return ::ftruncate(fd, static_cast<off_t>(size)) == 0;
}

// Returns why the received file is not the expected one; empty if it is.
std::string find_fault(int fd, const SharedMemoryName& name) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) return with_errno("fstat");
  if (facts.st_dev != name.device || facts.st_ino != name.inode) return "is another file";
  if (facts.st_uid != geteuid())
    return "belongs to another user (" + std::to_string(facts.st_uid) + ")";
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return with_errno("F_GET_SEALS");
  if ((seals & kSeals) != kSeals) return "could shrink";
  if (facts.st_size < 0 || static_cast<std::uint64_t>(facts.st_size) < name.size)
    return "is shorter than the size that its maker published";
  return {};
}

// Not open: errno is EINVAL if another file was found.
FileDescriptor open_through_proc(const SharedMemoryName& name, std::string& why_not) {
  FileDescriptor file = open_of_process(name.pid, static_cast<int>(name.fd), kOurs, why_not);
  if (!file.is_open()) return file;
  // Check the name again, now of the open file, because the process may have been replaced by another one.
  const bool same = target_of(static_cast<std::uint32_t>(getpid()), file.get())
                        .starts_with("/memfd:" + file_name(name.cookie));
  const std::string fault =
      same ? find_fault(file.get(), name) : "belongs to another process (cookie differs)";
  if (fault.empty()) return file;
  why_not = "memory of process " + std::to_string(name.pid) + ": " + fault;
  errno = EINVAL;
  return FileDescriptor();
}

FileDescriptor get_handed_over(const SharedMemoryName& name, FileDescriptor* process,
                               std::string& why_not) {
  std::string fault;
  hand_over::Handed handed = hand_over::request(name.cookie, fault);
  if (handed.memory.is_open()) {
    fault = find_fault(handed.memory.get(), name);
    if (fault.empty() && process == nullptr && handed.pid != name.pid)
      fault = "in another pid namespace";
  }
  if (handed.memory.is_open() && fault.empty()) {
    if (process != nullptr) *process = std::move(handed.process);
    why_not.clear();
    return std::move(handed.memory);
  }
  if (!fault.empty()) why_not += (why_not.empty() ? "" : "; ") + fault;
  return FileDescriptor();
}

}  // namespace

std::optional<SharedFile> SharedFile::create(std::size_t size, std::string& why_not) {
  SharedFile made;
  SharedMemoryName& name = made.name_;
  name.size = std::max<std::size_t>(size, 1);
  name.cookie = hand_over::new_cookie();
  if (name.cookie == hand_over::Cookie{}) {
    why_not = with_errno("getrandom");
    return std::nullopt;
  }
  FileDescriptor file(
      memfd_create(file_name(name.cookie).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  struct stat facts {};
  if (!file.is_open() || !resize(file.get(), name.size) ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0 || fstat(file.get(), &facts) != 0) {
    why_not = with_errno("memfd of " + std::to_string(name.size) + " bytes");
    return std::nullopt;
  }
  name.device = facts.st_dev;
  name.inode = facts.st_ino;
  name.pid = static_cast<std::uint32_t>(getpid());
  name.fd = static_cast<std::uint32_t>(file.get());
  made.fd_ = std::make_shared<const FileDescriptor>(std::move(file));
  hand_over::offer(name.cookie, made.fd_);
  return made;
}

std::optional<SharedFile> SharedFile::open(const SharedMemoryName& name, std::string& why_not,
                                           FileDescriptor* process) {
  if (name.size == 0) {
    why_not = "there is none";
    return std::nullopt;
  }
  FileDescriptor file;
  if (process == nullptr) file = open_through_proc(name, why_not);
  if (!file.is_open()) file = get_handed_over(name, process, why_not);
  if (!file.is_open()) return std::nullopt;
  SharedFile opened;
  opened.fd_ = std::make_shared<const FileDescriptor>(std::move(file));
  opened.name_ = name;
  return opened;
}

std::size_t round_to_pages(std::size_t size) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return round_up(size, page);
}

bool is_gone(const SharedMemoryName& name) {
  if (ProcessWatch(name.pid).dead()) return true;
  errno = 0;
  const std::string target = target_of(name.pid, static_cast<int>(name.fd));
  // Another process has its number, or it has closed the memory, which counts as its end. If the memory is there,
  // its maker runs, even if this process may not open it or check its seals.
  if (!target.empty()) return !target.starts_with("/memfd:" + file_name(name.cookie));
  const std::string files = "/proc/" + std::to_string(name.pid) + "/fd";
  return errno == ENOENT &&
         FileDescriptor(::open(files.c_str(), O_DIRECTORY | O_CLOEXEC)).is_open();
}

Mapping SharedFile::map(std::size_t offset, std::size_t size) const noexcept {
  struct stat facts {};
  const bool inside = fstat(fd_->get(), &facts) == 0 && facts.st_size >= 0 &&
                      offset <= static_cast<std::uint64_t>(facts.st_size) &&
                      size <= static_cast<std::uint64_t>(facts.st_size) - offset;
  if (inside) return {fd_->get(), offset, size};
  errno = EFAULT;
  return {};
}

bool SharedFile::grow(std::size_t size) noexcept {
  struct stat facts {};
  if (fstat(fd_->get(), &facts) != 0) return false;
  return static_cast<std::uint64_t>(facts.st_size) >= size || resize(fd_->get(), size);
}

bool SharedFile::discard(std::size_t offset, std::size_t size) noexcept {
  return fallocate(fd_->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(offset), static_cast<off_t>(size)) == 0;
}

std::size_t SharedFile::used() const noexcept {
  struct stat facts {};
  constexpr std::size_t kStatBlock = 512;  // as stat(2) defines it, for every file system
  return fstat(fd_->get(), &facts) == 0 ? static_cast<std::size_t>(facts.st_blocks) * kStatBlock
                                        : 0;
}

std::optional<SharedMemory> SharedMemory::create(std::size_t size, std::string& why_not) {
  return mapped(SharedFile::create(size, why_not), why_not);
}

std::optional<SharedMemory> SharedMemory::open(const SharedMemoryName& name, std::string& why_not) {
  std::optional<SharedMemory> theirs = mapped(SharedFile::open(name, why_not), why_not);
  if (theirs) theirs->close();
  return theirs;
}

std::optional<SharedMemory> SharedMemory::mapped(std::optional<SharedFile> file,
                                                 std::string& why_not) {
  if (!file) return std::nullopt;
  SharedMemory whole;
  whole.mapping_ = file->map(0, file->name().size);
  if (!whole.mapping_.is_open()) {
    why_not = with_errno(std::to_string(file->name().size) + " bytes cannot be mapped");
    return std::nullopt;
  }
  whole.file_ = std::move(*file);
  return whole;
}

}  // namespace lfc
