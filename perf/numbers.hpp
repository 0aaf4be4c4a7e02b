// The command line of a benchmark that takes numbers. --help, or an argument that is no number above zero, prints the
// usage and ends the program.
//
//   numbers_or_usage(argc, argv, 2, "ring_bench [repeats=9] [milliseconds=20]");
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lfc {

// Checks the first `most` arguments; the caller reads the arguments behind them.
inline void numbers_or_usage(int argc, char** argv, int most, const char* usage) {
  for (int i = 1; i < argc && i <= most; ++i) {
    char* end = nullptr;
    if (std::strtod(argv[i], &end) > 0 && *end == '\0') continue;
    const bool asked = std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0;
    std::fprintf(asked ? stdout : stderr, "usage: %s\n", usage);
    std::exit(asked ? 0 : 2);
  }
}

}  // namespace lfc
