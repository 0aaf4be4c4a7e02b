#include "unit/failing_allocation.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local bool is_armed = false;
thread_local bool failed = false;
thread_local unsigned before_failure = 0;
thread_local std::size_t least_size = 0;

[[maybe_unused]] bool fails_now(std::size_t size) noexcept {
  if (!is_armed || size < least_size || before_failure-- != 0) return false;
  is_armed = false;
  failed = true;
  return true;
}

}  // namespace

namespace lfc {

FailingAllocation::FailingAllocation(unsigned number, std::size_t least) noexcept {
  before_failure = number;
  least_size = least;
  failed = false;
  is_armed = true;
}
FailingAllocation::~FailingAllocation() { is_armed = false; }
bool FailingAllocation::has_failed() const noexcept { return failed; }

}  // namespace lfc

#if LFC_ALLOCATIONS_FAIL
// The forms for arrays and without exceptions call these.
void* operator new(std::size_t size) {
  void* const memory = fails_now(size) ? nullptr : std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
