// The acceptance scenarios of the NEON calls, T01 to T28: README.md lists them. Needs 2 ranks; with 4 or more ranks
// the scenarios with several origins also run. Rank 0 is the target, the others are origins.
//
//   neon_scenarios [--only T07] [--delay MICROSECONDS] [--seed N] [--expect LEVEL]
//
// --delay: each rank sleeps for random times of that length at most, between its steps.
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
#include "scenarios/calls.h"
#include "scenarios/data.h"
#include "scenarios/load.h"
#include "scenarios/puts.h"
#include "scenarios/ranks.h"

static const struct {
  const char* name;
  void (*run)(void);
} scenarios[] = {
    {"T01", t01_announce_put_notify},
    {"T02", t02_early_eager},
    {"T03", t03_early_large},
    {"T04", t04_announce_meanwhile},
    {"T05", t05_immediate},
    {"T06", t06_many_non_final},
    {"T07", t07_never_overtakes},
    {"T08", t08_notify_alone},
    {"T09", t09_notify_early_complete_late},
    {"T10", t10_handles},
    {"T11", t11_strong},
    {"T12", t12_several_origins},
    {"T13", t13_stranger},
    {"T14", t14_rounds},
    {"T15", t15_double_buffering},
    {"T16", t16_no_crosstalk},
    {"T17", t17_unpost},
    {"T18", t18_overrun},
    {"T19", t19_sizes},
    {"T20", t20_never_blocks},
    {"T21", t21_flood},
    {"flood", flood_of_announced},
    {"T24", t24_mixed_waits},
    {"T25", t25_threads},
    {"T26", t26_errors},
    {"T27", t27_pending_at_the_end},
    {"T28", t28_get},
    {"withdrawn", withdrawn},
    {"types", datatypes},
    {"persistent", persistent},
    {"pieces-beyond", pieces_beyond},
    {"pieces-early", pieces_early},
    {"in-order", in_order},
    {"freed", freed_under_way},
};

int main(int argc, char** argv) {
  check_start(&argc, &argv,
              has_option(argc, argv, "--threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  require(ranks >= 2 && ranks <= 64, "needs 2 to 64 ranks");
  shares_counters = open_counters();
  delay = option(argc, argv, "--delay", 0);
  delays = seed * 1000003 + (uint64_t)me;
  for (int i = 1; i < ranks; ++i) others[i - 1] = i;
  const char* only = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  int run = 0;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
    if (only != NULL && strcmp(only, scenarios[i].name) != 0) continue;
    doing("%s", scenarios[i].name);
    const double start = MPI_Wtime();
    scenarios[i].run();
    barrier();
    if (me == 0) {
      printf("%s %.2f s\n", scenarios[i].name, MPI_Wtime() - start);
      fflush(stdout);
    }
    ++run;
  }
  require(run > 0, "no scenario named %s", only);
  const long expected = option(argc, argv, "--expect", 0);
  if (expected > 0) {
    int level = 0;
    open_window(8);
    MPIX_Neon_query(win, &level);
    require(level == expected, "served at level %d, not %ld", level, expected);
    close_window();
  }
  return check_end();
}
