#include "app/job.hpp"

#include <cstdarg>

namespace app {

int rank = 0;
int ranks = 1;
std::uint64_t seed = 1;
char name[32] = "app";

void fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "FAIL %s rank %d of %d (seed %llu): %s\n", name, rank, ranks,
               static_cast<unsigned long long>(seed), text);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

}  // namespace app
