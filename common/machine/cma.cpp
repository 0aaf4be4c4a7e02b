#include "machine/cma.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <system_error>

namespace lfc {
namespace {

// The kernel moves less than requested if the size is above its limit (2 GiB) or if an address is not mapped. The next
// call shows which of the two it was.
template <class Transfer>
bool transfer_all(Transfer transfer, std::uint32_t pid, std::byte* local, std::uint64_t remote,
                  std::size_t size) noexcept {
  while (size != 0) {
    const iovec here{local, size};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(remote)), size};
    const ssize_t moved = transfer(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = EFAULT;
    if (moved <= 0) return false;
    local += moved;
    remote += static_cast<std::uint64_t>(moved);
    size -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool cma_read(std::uint32_t pid, void* destination, std::uint64_t remote,
              std::size_t size) noexcept {
  return transfer_all(process_vm_readv, pid, static_cast<std::byte*>(destination), remote, size);
}

bool cma_is_refused(int error) noexcept {
  return error == EPERM || error == EACCES || error == ENOSYS;
}

bool cma_write(std::uint32_t pid, const void* source, std::uint64_t remote,
               std::size_t size) noexcept {
  auto* local = static_cast<std::byte*>(const_cast<void*>(source));
  return transfer_all(process_vm_writev, pid, local, remote, size);
}

bool cma_write_pieces(std::uint32_t pid, std::span<const iovec> here,
                      std::span<const iovec> there) noexcept {
  std::size_t wanted = 0;
  for (const iovec& piece : here) wanted += piece.iov_len;
  for (;;) {
    const ssize_t moved = process_vm_writev(static_cast<pid_t>(pid), here.data(), here.size(),
                                            there.data(), there.size(), 0);
    if (moved < 0 && errno == EINTR) continue;
    return moved >= 0 && static_cast<std::size_t>(moved) == wanted;
  }
}

bool cma_permitted(std::uint32_t pid, std::uint64_t probe, std::uint64_t expected,
                   std::string& why_not) {
  std::uint64_t seen = 0;
  if (!cma_read(pid, &seen, probe, sizeof seen)) {
    why_not = "process_vm_readv: " + std::generic_category().message(errno);
  } else if (seen != expected) {
    why_not = "process_vm_readv reached another process";
  } else {
    return true;
  }
  return false;
}

}  // namespace lfc
