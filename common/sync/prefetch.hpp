// Asks for a cache line to be ours before it is written, so that several lines are on their way at once: an atomic
// operation otherwise waits for all stores before it, and only then begins to fetch its own line.
//
//   prefetch_for_write(&counter);
//   data = value;
//   counter.fetch_add(1, std::memory_order_release);
//
// A hint: it orders nothing and never faults.
#pragma once

namespace lfc {

inline void prefetch_for_write(const void* line) noexcept {
#if defined(__x86_64__)
  // Without options for newer processors the builtin fetches the line for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace lfc
