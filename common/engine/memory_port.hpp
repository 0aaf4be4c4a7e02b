// MemoryPort: what a service has of remote memory: its own it registers, others' it writes and reads, by a link that
// reaches it or in frames. The engine's is RemoteOrigin (engine/remote_origin.hpp); a test may have one of its own.
//
//   RegionHandle region;
//   memory.register_memory(buffer, size, kRemoteWrite, region);           // the target publishes it
//   memory.put(peer, source, nullptr, address, region, size, &operation); // operation.done() later
//
// All are called by the host without ServicePort::Access, for what has ended is called back meanwhile; those at once
// with it as well, where the host has one thread.
// Held by tests/unit/engine/ni_remote_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/link.hpp"
#include "link/region.hpp"

namespace lfc {

class MemoryPort {
 public:
  virtual bool register_memory(void* data, std::size_t size, std::uint32_t access,
                               RegionHandle& out) = 0;
  virtual void deregister_memory(RegionHandle& handle) noexcept = 0;
  // True when put() and get() to this peer need no help of its NI. Opens the connection.
  virtual bool is_native(PeerId peer) noexcept = 0;
  // Each starts one operation; operation->done is called exactly once, possibly inside the call.
  // put() has finished when the target's memory has changed. `local` may be null (the link registers
  // as needed); sizes in bytes; addresses are the target's.
  virtual void put(PeerId peer, const void* source, const RegionHandle* local,
                   std::uint64_t address, const RegionHandle& remote, std::size_t size,
                   Operation* operation) noexcept = 0;
  virtual void get(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size, Operation* operation) noexcept = 0;
  // put() and get(), finished on return, where the link copies within the call and nothing waits before it. False:
  // nothing was done, and what is wrong, if anything, put() and get() tell.
  virtual bool put_at_once(PeerId peer, const void* source, std::uint64_t address,
                           const RegionHandle& remote, std::size_t size) noexcept = 0;
  virtual bool get_at_once(PeerId peer, void* destination, std::uint64_t address,
                           const RegionHandle& remote, std::size_t size) noexcept = 0;

 protected:
  ~MemoryPort() = default;
};

}  // namespace lfc
