// Report: the output format of lfc-info, which has headings, and rows with a name in front.
//
//   heading("links, in order of preference");
//   row("shm", "works (%s)", "by default");
#pragma once

#include <cstdio>

namespace lfc {

inline void heading(const char* title) { std::printf("\n%s\n", title); }

template <class... Values>
void row(const char* name, const char* format, Values... values) {
  std::printf("  %-18s ", name);
  if constexpr (sizeof...(values) == 0) {
    std::fputs(format, stdout);
  } else {
    std::printf(format, values...);
  }
  std::putchar('\n');
}

}  // namespace lfc
