#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lfc {
namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// What the kernel knows cannot fail later, but for want of memory.
bool knows(long commands) noexcept {
  static const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return known > 0 && (known & commands) == commands;
}

bool register_threads() noexcept {
  while (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) sched_yield();
  return true;
}

// With the processes of the node.
enum class Registration : std::uint8_t { none, left_to_thread, done, refused };
std::atomic<Registration> registration{Registration::none};

}  // namespace

// Not between processes: on idle nodes wake-ups were lost. The likely cause: a core that was idle while a process
// registered leaves out the fence of its threads for as long as no other process runs there.
bool AsymmetricFence::is_known(Scope scope) noexcept {
  return scope == Scope::process &&
         knows(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool AsymmetricFence::may_be_light() noexcept {
  if (registration.load(std::memory_order_relaxed) == Registration::none) register_process();
  // Pairs with the release below: who sees it is fenced by the kernel.
  return registration.load(std::memory_order_acquire) == Registration::done;
}

void AsymmetricFence::leave_to_thread() noexcept {
  registration.store(Registration::left_to_thread, std::memory_order_relaxed);
}

void AsymmetricFence::register_process() noexcept {
  const bool done = is_known(Scope::node) && membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  registration.store(done ? Registration::done : Registration::refused,
                     std::memory_order_release);  // pairs with the acquire above
}

void AsymmetricFence::heavy() const noexcept {
  full_fence();
  if (!cheap_) return;
  if (scope_ == Scope::node) {
    (void)membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return;
  }
  static const bool registered = register_threads();
  (void)(registered && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace lfc
