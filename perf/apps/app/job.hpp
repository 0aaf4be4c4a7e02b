// Job: the program's name, its rank, and how it fails.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace app {

extern int rank;
extern int ranks;
extern std::uint64_t seed;
extern char name[32];

// Prints the text and ends the job with exit code 1.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

template <class... Arguments>
void require(bool condition, const char* format, Arguments... arguments) {
  if (condition) return;
  if constexpr (sizeof...(arguments) == 0)
    fail("%s", format);
  else
    fail(format, arguments...);
}

// Requires a condition on the user's options, the same on all ranks. Otherwise it prints the text and
// ends the job with exit code 2.
template <class... Arguments>
void want(bool condition, const char* format, Arguments... arguments) {
  if (condition) return;
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);  // rank 0 ends the job
  std::fprintf(stderr, "%s: ", name);
  if constexpr (sizeof...(arguments) == 0)
    std::fputs(format, stderr);
  else
    std::fprintf(stderr, format, arguments...);
  std::fputs("; see --help\n", stderr);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::_Exit(2);
}

}  // namespace app
