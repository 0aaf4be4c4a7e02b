// relax: a pause between two looks of a spinning thread, for the other thread of its core.
//
//   while (!ready.load(std::memory_order_acquire)) relax();
#pragma once

namespace lfc {

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace lfc
