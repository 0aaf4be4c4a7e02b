// Starts a rank in circumstances of its own: other transports, parameters, limits, refused system calls and pauses than
// its peers have. The peers must not depend on any of it.
//
//   mpirun -n 3 ... circumstances 17 PROGRAM ARGS...            as the seed 17 draws them
//   mpirun -n 3 ... circumstances "@1 limit=files:40" PROGRAM ARGS...    these; words.hpp has the words
//   circumstances --print 3 17                                  prints them for ranks 0 to 2, as such a text
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "words.hpp"

namespace circumstances {
namespace {

bool is_seed(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}
std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

void print(int ranks, std::uint64_t seed) {
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    text += (rank > 0 ? " @" : "@") + std::to_string(rank);
    for (const std::string& word : drawn(seed, rank)) text += " " + word;
  }
  std::puts(text.c_str());
}

int rank_of_this() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 0;
}

// The library that is built beside this program.
std::string shim() {
  char path[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return self.substr(0, self.rfind('/') + 1) + "programs_circumstances_shim.so";
}

}  // namespace
}  // namespace circumstances

int main(int argc, char** argv) {
  using namespace circumstances;
  if (argc == 4 && std::strcmp(argv[1], "--print") == 0) {
    print(std::atoi(argv[2]), number(argv[3]));
    return 0;
  }
  if (argc < 3) {
    std::fputs("usage: circumstances SEED|WORDS PROGRAM ARGS... | --print RANKS SEED\n", stderr);
    return 2;
  }
  const int rank = rank_of_this();
  const std::string library = shim();
  if (!bring_about(is_seed(argv[1]) ? drawn(number(argv[1]), rank) : words_of(argv[1], rank),
                   library))
    return 2;
  execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
