// MemoryPort: a service's access to remote memory. A service registers its own memory, and writes and reads that of
// peers, by a link that reaches it or in frames. The engine's is RemoteOrigin (engine/remote_origin.hpp); a test may
// have its own.
//
//   RegionHandle region;
//   memory.register_memory(buffer, size, kRemoteWrite, region);           // the target publishes it
//   { const ServicePort::Visit visit(port);
//     memory.put(peer, source, nullptr, address, region, size, &operation); }        // operation.done() later
//
// Functions that register memory are called by the host, without ServicePort::Access. The others need it, and may also
// be called by the control program. A completion is called back without Access, by the host: at the end of a Visit, or
// in progress().
// Held by tests/unit/engine/ni_remote_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/registration_cache.hpp"
#include "engine/service.hpp"
#include "link/link.hpp"
#include "link/region.hpp"

namespace lfc {

class MemoryPort {
 public:
  virtual bool register_memory(void* data, std::size_t size, std::uint32_t access,
                               RegionHandle& out) = 0;
  virtual void deregister_memory(RegionHandle& handle) noexcept = 0;
  // Returns whether put() and get() to this peer need no help of its NI. Opens the connection.
  virtual bool is_native(PeerId peer) noexcept = 0;
  // Each starts one operation; operation->done is called exactly once, after the call.
  // put() has finished when the target's memory has changed. `local` may be null (the link registers
  // as needed); sizes in bytes; addresses are the target's.
  virtual void put(PeerId peer, const void* source, const RegionHandle* local,
                   std::uint64_t address, const RegionHandle& remote, std::size_t size,
                   Operation* operation) noexcept = 0;
  virtual void get(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size, Operation* operation) noexcept = 0;
  // As put() with a notification, which calls Service::on_notified() at the target once its memory has changed, all in
  // one request of the link. It takes a credit, as a frame of the service does. It has finished when the source is the
  // caller's again. `not_supported`: nothing was written. Only for links with LinkTraits::notified_puts.
  virtual void put_notified(PeerId peer, const void* source, const RegionHandle* local,
                            std::uint64_t address, const RegionHandle& remote, std::size_t size,
                            ServiceId service, std::uint32_t value,
                            Operation* operation) noexcept = 0;
  // put() and get() that have finished on return, if the link copies within the call and no operation waits before
  // them. False: nothing was done; put() and get() report an error, if there is one.
  virtual bool put_at_once(PeerId peer, const void* source, std::uint64_t address,
                           const RegionHandle& remote, std::size_t size) noexcept = 0;
  virtual bool get_at_once(PeerId peer, void* destination, std::uint64_t address,
                           const RegionHandle& remote, std::size_t size) noexcept = 0;
  // Puts the pieces in order, as put_at_once(). False: some of them may have been put.
  virtual bool put_pieces_at_once(PeerId peer, std::span<const CopyPiece> pieces,
                                  const RegionHandle& remote) noexcept = 0;

  // Returns the cache for memory that is registered again and again; null: registrations are not kept.
  RegistrationCache* cache() const noexcept { return cache_.load(std::memory_order_acquire); }
  // Sets the cache, which registers by this port. Null: it is closed, and has deregistered all memory.
  void use_cache(RegistrationCache* cache) noexcept {
    cache_.store(cache, std::memory_order_release);  // pairs with cache(): its functions are set
  }

 protected:
  ~MemoryPort() = default;

 private:
  std::atomic<RegistrationCache*> cache_ = nullptr;
};

}  // namespace lfc
