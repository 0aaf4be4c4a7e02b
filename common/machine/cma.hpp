// CMA (cross-memory attach): the kernel copies between the memories of two processes, once.
//
//   std::string why;
//   if (cma_permitted(pid, probe_address, cookie, why)) ...
//   bool done = cma_read(pid, destination, remote_address, size);
//
// A false from cma_read/cma_write means that not everything was copied: the address is not mapped
// there, the process is gone, or the kernel no longer permits it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lfc {

// Tests the permission: reads the word at `probe` and compares it with `expected`.
bool cma_permitted(std::uint32_t pid, std::uint64_t probe, std::uint64_t expected,
                   std::string& why_not);
bool cma_read(std::uint32_t pid, void* destination, std::uint64_t remote,
              std::size_t size) noexcept;
// Whether a copy failed with this errno because the kernel does not permit it; it permits no further one.
bool cma_is_refused(int error) noexcept;
bool cma_write(std::uint32_t pid, const void* source, std::uint64_t remote,
               std::size_t size) noexcept;
// Writes here[i] to there[i], which is as large, for each i in order. At most kCmaPieces pieces.
inline constexpr std::size_t kCmaPieces = 256;
bool cma_write_pieces(std::uint32_t pid, std::span<const iovec> here,
                      std::span<const iovec> there) noexcept;

}  // namespace lfc
