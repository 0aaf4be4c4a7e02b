// kAtomicsAreFences: whether each CPU atomic that reads and writes is a full fence, as those of x86 are. Then no later
// load of the same thread overtakes it, or the stores before it.
//
//   if constexpr (!kAtomicsAreFences) full_fence();
#pragma once

namespace lfc {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool kAtomicsAreFences = true;
#else
inline constexpr bool kAtomicsAreFences = false;
#endif

}  // namespace lfc
