#include "machine/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace lfc {

std::optional<SharedMemory> SharedMemory::create(std::size_t size) {
  SharedMemory made;
  made.fd_ = FileDescriptor(memfd_create("lfc-window", MFD_CLOEXEC));
  const std::size_t bytes = std::max<std::size_t>(size, 1);
  struct stat facts {};
  if (!made.fd_.is_open() || ftruncate(made.fd_.get(), static_cast<off_t>(bytes)) != 0 ||
      fstat(made.fd_.get(), &facts) != 0)
    return std::nullopt;
  made.mapping_ = Mapping(made.fd_.get(), 0, bytes);
  if (!made.mapping_.is_open()) return std::nullopt;
  made.name_ = {facts.st_dev, facts.st_ino, bytes, static_cast<std::uint32_t>(getpid()),
                static_cast<std::uint32_t>(made.fd_.get())};
  return made;
}

std::optional<SharedMemory> SharedMemory::open(const SharedMemoryName& name) {
  if (name.size == 0) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.fd);
  const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!fd.is_open() || fstat(fd.get(), &facts) != 0 || facts.st_dev != name.device ||
      facts.st_ino != name.inode || facts.st_size < 0 ||
      static_cast<std::uint64_t>(facts.st_size) != name.size)
    return std::nullopt;
  SharedMemory opened;
  opened.mapping_ = Mapping(fd.get(), 0, name.size);
  if (!opened.mapping_.is_open()) return std::nullopt;
  opened.name_ = name;
  return opened;
}

}  // namespace lfc
