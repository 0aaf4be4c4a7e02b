/* mpi_startup: the cost of a program's start. It times MPI_Init, the first message, the first collective, new
 * communicators and windows, and MPI_Finalize. perf/startup runs it; each job measures MPI_Init and MPI_Finalize once.
 *
 *   mpirun -n 16 mpi_startup [--repeats N]     repeats the calls for communicators and windows N times (10)
 *
 * A line is the time of the slowest rank in microseconds, for repeated calls the median:
 *   {"bench":"init","size":0,"depth":1,"ranks":16,"median":413000,"unit":"us"}
 * MPI_Finalize is timed by each rank, so it has a line for each. The last line of rank 0 names the libraries of LFC, and
 * libstdc++, that are mapped: {"mapped":["liblfc"]}. Exit code 2: invalid argument.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostRepeats = 100, kWindowBytes = 64 * 1024 };

enum phase {
  INIT,
  FIRST_MESSAGE,
  FIRST_COLLECTIVE,
  COMM_DUP,
  DUP_BARRIER,
  COMM_FREE,
  COMM_SPLIT,
  SPLIT_BARRIER,
  WIN_CREATE,
  WIN_ALLOCATE,
  WIN_SHARED,
  WIN_FREE,
  PHASES
};

static const char* const kNames[PHASES] = {
    "init",        "first_message", "first_collective",    "comm_dup",
    "dup_barrier", "comm_free",     "comm_split",          "split_barrier",
    "win_create",  "win_allocate",  "win_allocate_shared", "win_free"};

static int rank;
static int ranks;
static double times[PHASES][kMostRepeats]; /* of this rank */
static int counts[PHASES];

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void note(enum phase phase, double since) {
  times[phase][counts[phase]++] = now_us() - since;
}

static void print_line(const char* name, double median) {
  printf("{\"bench\":\"%s\",\"size\":0,\"depth\":1,\"ranks\":%d,\"median\":%.1f,\"unit\":\"us\"}\n",
         name, ranks, median);
}

/* Each rank sends 8 B to the next one. The time includes the skew of the ranks after MPI_Init. */
static void message(void) {
  double out = rank;
  double in = -1;
  const double began = now_us();
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % ranks, 1, &in, 1, MPI_DOUBLE,
               (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  note(FIRST_MESSAGE, began);
  if (in != (rank + ranks - 1) % ranks) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void collective(void) {
  double out = 1;
  double sum = 0;
  const double began = now_us();
  MPI_Allreduce(&out, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  note(FIRST_COLLECTIVE, began);
  if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void barrier(MPI_Comm comm, enum phase phase) {
  const double began = now_us();
  MPI_Barrier(comm);
  note(phase, began);
}

/* All are held until the end, as by a program with many communicators: none takes over the memory of another one. */
static void communicators(int repeats) {
  MPI_Comm dups[kMostRepeats];
  MPI_Comm halves[kMostRepeats];
  for (int i = 0; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double began = now_us();
    MPI_Comm_dup(MPI_COMM_WORLD, &dups[i]);
    note(COMM_DUP, began);
    MPI_Barrier(MPI_COMM_WORLD);
    barrier(dups[i], DUP_BARRIER);
    began = now_us();
    MPI_Comm_split(MPI_COMM_WORLD, ranks > 2 ? rank * 2 / ranks : 0, rank, &halves[i]);
    note(COMM_SPLIT, began);
    MPI_Barrier(MPI_COMM_WORLD);
    barrier(halves[i], SPLIT_BARRIER);
  }
  for (int i = 0; i < repeats; ++i) {
    MPI_Comm_free(&halves[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now_us();
    MPI_Comm_free(&dups[i]);
    note(COMM_FREE, began);
  }
}

static bool shares_a_node(void) {
  MPI_Comm node;
  int on_node = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  return on_node == ranks;
}

static void free_window(MPI_Win* window, bool timed) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = now_us();
  MPI_Win_free(window);
  if (timed) note(WIN_FREE, began);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void windows(int repeats) {
  static char memory[kWindowBytes];
  const bool shared = shares_a_node();
  MPI_Win window;
  void* base;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < repeats; ++i) {
    const double began = now_us();
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    note(WIN_CREATE, began);
    free_window(&window, false);
  }
  for (int i = 0; i < repeats; ++i) {
    const double began = now_us();
    MPI_Win_allocate(kWindowBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    note(WIN_ALLOCATE, began);
    free_window(&window, true);
  }
  for (int i = 0; shared && i < repeats; ++i) {
    const double began = now_us();
    MPI_Win_allocate_shared(kWindowBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    note(WIN_SHARED, began);
    free_window(&window, false);
  }
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a;
  const double right = *(const double*)b;
  return (left > right) - (left < right);
}

static void print_all(void) {
  for (int phase = 0; phase < PHASES; ++phase) {
    double slowest[kMostRepeats];
    MPI_Reduce(times[phase], slowest, counts[phase], MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0 || counts[phase] == 0) continue;
    qsort(slowest, (size_t)counts[phase], sizeof *slowest, compare);
    print_line(kNames[phase], slowest[counts[phase] / 2]);
  }
}

static void print_mapped(void) {
  static const char* const libraries[] = {"liblfc", "libstdc++"};
  bool found[2] = {false, false};
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    for (int i = 0; i < 2; ++i) found[i] = found[i] || strstr(line, libraries[i]) != NULL;
  if (maps != NULL) fclose(maps);
  printf("{\"mapped\":[%s%s%s]}\n", found[0] ? "\"liblfc\"" : "", found[0] && found[1] ? "," : "",
         found[1] ? "\"libstdc++\"" : "");
}

int main(int argc, char** argv) {
  int repeats = 10;
  if (argc == 3 && strcmp(argv[1], "--repeats") == 0) repeats = atoi(argv[2]);
  if ((argc != 1 && argc != 3) || repeats < 1 || repeats > kMostRepeats) {
    fprintf(stderr, "usage: mpi_startup [--repeats N], N from 1 to %d\n", kMostRepeats);
    return 2;
  }
  double began = now_us();
  MPI_Init(&argc, &argv);
  note(INIT, began);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  message();
  collective();
  communicators(repeats);
  windows(repeats);
  print_all();
  if (rank == 0) print_mapped();
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  began = now_us();
  MPI_Finalize();
  print_line("finalize", now_us() - began);
  return 0;
}
