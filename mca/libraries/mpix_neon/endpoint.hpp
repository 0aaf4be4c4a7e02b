// Endpoint: the server of NEON for one window in this process: `Neon`, the carrier of its frames, and the lock around
// both. Two kinds: emulation.hpp (MPI messages) and LFC's engine, which the component `osc neon` provides (native.hpp,
// native_endpoint.cpp).
//
//   const std::lock_guard guard(endpoint);
//   endpoint.neon().origin().put(op, target, tag, 0, data, n, true, false);
//   endpoint.poll();
//
// Operations and announcements end inside poll(), inside the calls, or in another thread; always
// with the lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "combination.h"
#include "services/neon/protocol/exposure.hpp"
#include "services/neon/protocol/neon.hpp"

namespace lfc::neon {

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;

  virtual Neon& neon() = 0;
  virtual int level() const = 0;  // MPIX_NEON_EMULATED ...
  // Whether poll() may have something to do. Without the lock, by one thread at a time.
  virtual bool is_due() { return true; }
  // Moves frames, or looks for notifications in mapped memory; the number of events. With the lock.
  virtual int poll() = 0;
  // Target::announce(). Without the lock.
  virtual Status announce(Announcement& buffer) {
    lock();
    const Status status = neon().target().announce(buffer);
    unlock();
    return status;
  }
  // Origin::put_mapped(). Without the lock.
  virtual bool put_announced(Rank /*target*/, std::uint32_t /*tag*/, std::uint64_t /*offset*/,
                             const void* /*data*/, std::uint64_t /*size*/, bool /*final*/,
                             bool /*strong*/) {
    return false;
  }
  // Before a put of `size` bytes to `target`. Without the lock.
  virtual void prepare(Rank /*target*/, std::uint64_t /*size*/) {}
  // Before a notified put of `size` bytes to the window at large. Without the lock.
  virtual void prepare_for_window(Rank /*target*/, std::uint64_t /*size*/) {}
  // Before an announcement is made for the first time, and when it is freed. Without the lock.
  virtual void expose(Announcement&) {}
  virtual void conceal(Announcement&) {}

  // --- Counters of notified access ---

  // Collective over the window: `count` of them, all 0, in place of those before.
  virtual Slot* make_slots(std::uint32_t count) {
    slots_ = std::make_unique<Slot[]>(count);
    return slots_.get();
  }
  // Whether some rank's notifications come by plain stores, so that looking again soon pays.
  virtual bool has_local_peers() const { return false; }
  // Writes and counts by loads and stores, if the target's memory is mapped here. Any thread, without
  // the lock; `offset` in bytes, and all of it in the target's window.
  virtual bool put_mapped(Rank /*target*/, std::uint64_t /*offset*/, const void* /*data*/,
                          std::uint64_t /*size*/, std::uint32_t /*index*/) {
    return false;
  }
  // For bytes that go to several places: returns where the caller may store them, before count_mapped(). Null: the
  // target's memory is not mapped here.
  virtual std::byte* mapped(Rank /*target*/, std::uint64_t /*offset*/) { return nullptr; }
  virtual void count_mapped(Rank /*target*/, std::uint32_t /*index*/) {}

  // An accumulate, and then the notification, in one frame; returns when the caller's memory is its own again. False:
  // that is not possible, and nothing was done. Else `error` is an MPI error code. Without the lock.
  virtual bool combine_notified(const lfc_neon_combination&, std::uint32_t /*index*/,
                                int& /*error*/) {
    return false;
  }

  // Whether a rank of the window is gone: slow, for calls that have waited long. Without the lock.
  virtual bool member_lost() { return false; }

  // Collective: brings all frames under way to their end, and stops. Without the lock.
  virtual void close() = 0;

 private:
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace lfc::neon
