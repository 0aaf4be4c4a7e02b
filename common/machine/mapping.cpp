#include "machine/mapping.hpp"

#include <sys/mman.h>

namespace lfc {

Mapping::Mapping(int fd, std::size_t offset, std::size_t size) noexcept : size_(size) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                    static_cast<off_t>(offset));
  if (data != MAP_FAILED) data_ = static_cast<std::byte*>(data);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace lfc
