#include "sync/gate.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace lfc {
namespace {

// The kernel reads the word of the atomic itself.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

void Gate::await_open() noexcept {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // The kernel does not put the thread to sleep if the word is no longer 1.
  (void)syscall(SYS_futex, &closed_, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Gate::wake_all() noexcept {
  (void)syscall(SYS_futex, &closed_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace lfc
