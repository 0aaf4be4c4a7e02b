#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lfc {
namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool AsymmetricFence::registered(Scope scope) noexcept {
  if (scope == Scope::process) {
    static const bool done = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    return done;
  }
  static const bool done = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  return done;
}

void AsymmetricFence::heavy() const noexcept {
  full_fence();
  // Once registered it cannot fail.
  if (cheap_)
    (void)membarrier(scope_ == Scope::process ? MEMBARRIER_CMD_PRIVATE_EXPEDITED
                                              : MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace lfc
