// Endpoint: what serves NEON for one window in this process: `Neon`, the carrier of its frames, and the
// lock around both. Two kinds: emulation.hpp (MPI messages) and LFC's network interface, which the
// component `osc neon` provides (native.hpp).
//
//   const std::lock_guard guard(endpoint);
//   endpoint.neon().origin().put(...);
//   endpoint.poll();
//
// Operations and announcements end inside poll(), inside the calls, or in another thread; always
// with the lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "protocol/neon/neon.hpp"

namespace lfc::neon {

// The window's memory in this process, and its counters; the library's, read by the carrier.
struct Exposure {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  std::unique_ptr<Slot[]> slots;
  std::uint32_t slot_count = 0;

  std::byte* at(std::uint64_t offset, std::uint64_t within, std::uint64_t bytes) const noexcept {
    if (offset > size || within > size - offset || bytes > size - offset - within) return nullptr;
    return base + offset + within;
  }
  Slot* slot(std::uint32_t index) const noexcept {
    return index < slot_count ? &slots[index] : nullptr;
  }
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;

  virtual Neon& neon() = 0;
  virtual int level() const = 0;  // MPIX_NEON_EMULATED ...
  // Moves frames; the number of events.
  virtual int poll() = 0;
  // Before an announcement is made for the first time, and when it is freed.
  virtual void expose(Announcement&) {}
  virtual void conceal(Announcement&) {}
  // Collective: brings all frames under way to their end, and stops. Without the lock.
  virtual void close() = 0;
};

}  // namespace lfc::neon
