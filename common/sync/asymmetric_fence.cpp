#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lfc {
namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_threads() noexcept {
  while (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) sched_yield();
  return true;
}

}  // namespace

// If the kernel has the commands, a call can fail later only for want of memory.
bool AsymmetricFence::is_known() noexcept {
  constexpr long kCommands =
      MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  static const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return known > 0 && (known & kCommands) == kCommands;
}

void AsymmetricFence::heavy() const noexcept {
  full_fence();
  if (!cheap_) return;
  static const bool registered = register_threads();
  (void)(registered && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace lfc
