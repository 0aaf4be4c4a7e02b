// RegistrationCache: registrations of this process's memory that outlive their use, because a link pins or maps pages
// for them. Open MPI's own cache is behind it (btl_lfc/registration.h). It detects memory that was returned to the
// system.
//
//   const RegionHandle* region = cache.take(buffer, size, kRemoteWrite);  // null: not possible
//   publish(*region);                                                     // peers may write
//   cache.give_back(*region);                                             // it may stay registered
//
// Threads: any, without ServicePort::Access, because memory may be registered meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/region.hpp"

namespace lfc {

class RegistrationCache {
 public:
  // Returns a registration for these Access bits that contains the memory and may begin before it. The cache owns it,
  // and it stays valid until give_back(). Null: the memory cannot be registered.
  virtual const RegionHandle* take(void* data, std::size_t size, std::uint32_t access) noexcept = 0;
  virtual void give_back(const RegionHandle& taken) noexcept = 0;

 protected:
  ~RegistrationCache() = default;
};

}  // namespace lfc
