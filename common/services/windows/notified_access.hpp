// NotifiedAccess: operations on a window that take a notification with them, in the same frame.
//
//   NotifiedAccess::count_by(window, {count, context});                // the counters of this member
//   if (!NotifiedAccess::combine(window, call, status)) ...            // call.counter: the target's
//
// Threads: as Window. Tests: tests/unit/services/windows/notified_test.cpp, tests/neon/notified.c.
#pragma once

#include "services/windows/window.hpp"

namespace lfc {

struct NotifiedAccess {
  // Issues an accumulate or fetch and, behind it, a notification of the target's counter `call.counter`, in one frame.
  // False: one frame cannot carry both, the target is mapped here, or no passive epoch is open. Then nothing was done.
  static bool combine(Window& window, const WindowCall& call, WindowStatus& status);
  // Returns the registration of that rank's memory, into which a put with a notification may go; empty if it has none.
  static RegionHandle region(const Window& window, std::uint32_t rank) noexcept {
    return window.carrier_.region_of(rank, window.size(rank));
  }
  // Sets the function that counts notifications for this member; it runs under the engine's lock.
  static void count_by(Window& window, const WindowNotifications& to);
};

}  // namespace lfc
