// FailingAllocation: while it exists, one call of `operator new` by this thread throws std::bad_alloc.
//
//   for (unsigned number = 0;; ++number) {
//     Table table;
//     bool has_failed = false;
//     {
//       const FailingAllocation failing(number);            // 0: the next one
//       try { table.enter(1); } catch (const std::bad_alloc&) {}
//       has_failed = failing.has_failed();
//     }
//     CHECK(table.is_sound());
//     if (!has_failed) break;
//   }
//
// With a size, only calls for at least so many bytes count. Without exceptions `operator new` returns null.
//
// Catch2's macros also allocate, so they stand outside its scope. With AddressSanitizer and ThreadSanitizer nothing
// fails, because these tools need their own `operator new`.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LFC_ALLOCATIONS_FAIL 0
#else
#define LFC_ALLOCATIONS_FAIL 1
#endif

namespace lfc {

class FailingAllocation {
 public:
  explicit FailingAllocation(unsigned number, std::size_t least = 0) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  // Returns whether the allocation was reached, and has failed.
  bool has_failed() const noexcept;
};

}  // namespace lfc
