// Whole MPI programs drawn at random, with sizes and counts around the limits of the implementation and ranks that
// come early and late. All ranks interpret each program, and the seed determines the expected data.
//
//   mpirun -n 4 ... programs [--seed N] [--programs N]      "digest ..." (of all results), then "ok"
//   --list             only print the steps of the programs
//   --skip 0,3         leave out these steps          --without 2   leave out the part of this rank
//   --prompt           all ranks come to each step at once
//   --kinds windows,polling   steps of these kinds only: messages, flood, persistent, repeated, collective,
//                      communicator, windows, polling, ordered, neon, threads, shared_window
//   --threads          MPI_THREAD_MULTIPLE: also steps whose ranks have several threads
//   --large            floods of more than 65,536 messages, and the like
//   --many-hosts       small collectives by the thousand, where they go through a network
//   --stock            leave out operations in which Open MPI's own components fail, to compare with them
//   --program-limit S  seconds that one program may take; then each rank prints its step and call, and all end
//
// tests/programs/minimise makes a failing program smaller.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "layout.hpp"
#include "reduction.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

struct Options {
  Cuts cuts;
  std::vector<bool> without;
  bool list;
  long limit;
  Scale scale;
};

const char* text_option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return "";
}

std::vector<bool> numbers(int argc, char** argv, const char* name) {
  std::vector<bool> chosen;
  for (const char* at = text_option(argc, argv, name); *at != '\0'; at += *at == ',') {
    char* end;
    const auto number = static_cast<std::size_t>(std::strtoul(at, &end, 10));
    if (end == at) break;
    if (chosen.size() <= number) chosen.resize(number + 1);
    chosen[number] = true;
    at = end;
  }
  return chosen;
}

// Each step is drawn from a separate seed, so that leaving out some changes nothing in the others.
std::uint64_t run_program(std::uint64_t seed, const Options& options) {
  Draw draw(seed);
  const int steps = draw.in(2, 8);
  std::vector<StepPointer> taken;  // a step owns the objects that it leaves behind
  World world(seed, steps, options.without);
  for (int step = 0; step < steps; ++step) {
    Draw own(mixed(seed, static_cast<std::uint64_t>(step)));
    std::vector<Entry> entries = draw_entries(own, world.roles);
    taken.push_back(draw_step(own, options.scale));
    taken.back()->arrange(own, entries);
    if (options.cuts.prompt) entries.assign(entries.size(), Entry());
    if (options.cuts.has(step)) continue;
    taken.back()->cut(options.cuts, step);
    const std::string text = taken.back()->text() + text_of(entries);
    if (options.list && world.me == 0) std::printf("%d: %s\n", step, text.c_str());
    if (options.list || !world.takes_part()) continue;
    take_step(world, step, *taken.back(), entries, text);
  }
  world.finish_all();
  return world.digest();
}

bool one_host() {
  MPI_Comm host;
  int here, all;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &here);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_free(&host);
  return here == all;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  using namespace programs;
  const bool threads = has_option(argc, argv, "--threads");
  watch_start(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  const std::uint64_t seed = static_cast<std::uint64_t>(number_option(argc, argv, "--seed", 1));
  const long count = number_option(argc, argv, "--programs", 1);
  int roles;
  MPI_Comm_size(MPI_COMM_WORLD, &roles);
  const bool large = has_option(argc, argv, "--large");
  const Scale scale = {.roles = roles,
                       .bytes = large ? std::size_t{3000000} : std::size_t{400000},
                       .count = large ? 1200 : 300,
                       .flood = large ? 140000 : 3000,
                       .stock = has_option(argc, argv, "--stock"),
                       .one_host = one_host(),
                       .many_hosts = has_option(argc, argv, "--many-hosts"),
                       .threads = threads,
                       .in_thread = false,
                       .kinds = text_option(argc, argv, "--kinds")};
  const Options options = {
      .cuts = {numbers(argc, argv, "--skip"), has_option(argc, argv, "--prompt")},
      .without = numbers(argc, argv, "--without"),
      .list = has_option(argc, argv, "--list"),
      .limit = number_option(argc, argv, "--program-limit", 60),
      .scale = scale};
  make_types();
  make_reductions();
  std::uint64_t digest = 0;
  for (long i = 0; i < count; ++i) {
    const std::uint64_t number = seed + static_cast<std::uint64_t>(i);
    watch_program(number, static_cast<unsigned>(options.limit));
    digest = mixed(digest, run_program(number, options));
  }
  free_types();
  free_reductions();
  std::uint64_t all = 0;
  int me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0)
    std::printf("digest %ld programs %016llx\n", count, static_cast<unsigned long long>(all));
  return watch_end();
}
