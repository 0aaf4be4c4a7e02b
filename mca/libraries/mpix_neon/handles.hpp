// Handles: names by which a program refers to objects of the library, in the type of pointers to them. A handle of an
// object that has ended, or an invalid one, is detected.
//
//   Handles<neon_job> jobs;
//   neon_job* const handle = jobs.enter(new neon_job);   // never null; not an address
//   neon_job* const job = jobs.find(handle);             // null: there is no such object, or no longer
//   jobs.end(handle);                                    // frees the object
//
// Threads: any, for different objects.
#pragma once

#include <bit>
#include <cstdint>
#include <mutex>

#include "base/name_table.hpp"
#include "spin_lock.hpp"

namespace lfc::neon {

template <class T>
class Handles {
 public:
  // Takes over the object.
  T* enter(T* object) {
    const std::lock_guard guard(lock_);
    return std::bit_cast<T*>(names_.enter(*object));
  }
  T* find(T* handle) {
    const std::lock_guard guard(lock_);
    return names_.find(std::bit_cast<std::uintptr_t>(handle));
  }
  void end(T* handle) {
    const std::lock_guard guard(lock_);
    const auto name = std::bit_cast<std::uintptr_t>(handle);
    delete names_.find(name);
    names_.leave(name);
  }

 private:
  SpinLock lock_;
  NameTable<T, std::uintptr_t> names_{32};
};

}  // namespace lfc::neon
