// Prefetches: hints to the processor about cache lines that are needed soon.
//
//   prefetch_line_to_write(entry);    // while the arguments are checked
#pragma once

namespace lfc {

// Fetches the cache line of `place` for writing, which invalidates it on the other side. In assembly, because for
// generic x86-64 the compiler would prefetch it for reading, and the line would move once more. A no-op where the
// instruction is unknown.
inline void prefetch_line_to_write(const void* place) noexcept {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(place)));
#else
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace lfc
