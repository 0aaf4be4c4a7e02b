/* The cost of the helper thread for a rank that computes and receives nothing.
 *
 *   mpirun -n 2 --mca btl lfc mpi_computing --seconds 10    computes so long; what did the thread use?
 *   mpirun -n 2 --mca btl lfc mpi_computing --work 200      computes so many millions of steps; how long?
 *
 * With --seconds each rank reads the times of its threads in /proc. The thread lfc-ni must use less
 * than 0.1 % of a processor. It may be switched to at most once in a second, because a kernel may wake
 * a sleeping thread now and then. Without such a thread the rank prints that. Results are JSON lines,
 * as mpi_bench's. */
#include "../check.h"

#include <dirent.h>

enum { kSettling = 1 }; /* seconds until the thread has noticed that its host computes */

static volatile double sum;

static void work(long millions) {
  double x = 1;
  for (long i = 0; i < millions * 1000000; ++i) x = x * 0.5 + 1;
  sum = x;
}

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end)
    for (int i = 1; i < 10000; ++i) sum += 1.0 / i;
}

struct usage {
  int threads;
  double cpu; /* seconds */
  long switches;
};

static FILE* open_task(const char* task, const char* name) {
  char path[300];
  snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, name);
  return fopen(path, "r");
}

static bool is_ni_thread(const char* task) {
  char name[32] = "";
  FILE* file = open_task(task, "comm");
  if (file == NULL) return false;
  const bool read = fgets(name, sizeof name, file) != NULL;
  fclose(file);
  return read && strcmp(name, "lfc-ni\n") == 0;
}

static struct usage ni_usage(void) {
  struct usage usage = {0};
  DIR* tasks = opendir("/proc/self/task");
  require(tasks != NULL, "no /proc");
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) {
    if (!is_ni_thread(entry->d_name)) continue;
    ++usage.threads;
    unsigned long long ran = 0;
    FILE* file = open_task(entry->d_name, "schedstat");
    require(file != NULL && fscanf(file, "%llu", &ran) == 1, "no schedstat");
    fclose(file);
    usage.cpu += (double)ran * 1e-9;
    file = open_task(entry->d_name, "status");
    require(file != NULL, "no status");
    char line[200];
    while (fgets(line, sizeof line, file) != NULL) {
      long count = 0;
      if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ||
          sscanf(line, "nonvoluntary_ctxt_switches: %ld", &count) == 1)
        usage.switches += count;
    }
    fclose(file);
  }
  closedir(tasks);
  return usage;
}

static void report(const char* bench, double value, const char* unit) {
  if (me == 0)
    printf("{\"bench\": \"%s\", \"size\": 0, \"depth\": 1, \"median\": %.6g, \"unit\": \"%s\"}\n",
           bench, value, unit);
}

static double highest(double mine) {
  double of_all = 0;
  MPI_Allreduce(&mine, &of_all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return of_all;
}

static void look_at_the_thread(double seconds) {
  compute(kSettling);
  const struct usage before = ni_usage();
  const double from = MPI_Wtime();
  compute(seconds);
  const double took = MPI_Wtime() - from;
  const struct usage after = ni_usage();
  const double share = 100 * highest((after.cpu - before.cpu) / took);
  const double switches = highest((double)(after.switches - before.switches) / took);
  if (highest(after.threads) == 0) {
    if (me == 0) printf("no NI thread\n");
    return;
  }
  report("ni_cpu", share, "% of a processor");
  report("ni_switches", switches, "1/s");
  require(share < 0.1, "the NI thread used %.3f %% of a processor", share);
  require(switches <= 1, "the NI thread was switched to %.2f times in a second", switches);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const long seconds = option(argc, argv, "--seconds", 2);
  const long millions = option(argc, argv, "--work", 0);
  /* The connections are there. */
  const int to = (me + 1) % ranks;
  const int from_rank = (me + ranks - 1) % ranks;
  int token = me;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, to, 1, from_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  require(token == from_rank, "%d, not %d", token, from_rank);
  if (millions > 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    work(millions);
    report("computing", 1e6 * highest(MPI_Wtime() - from), "us");
  } else {
    look_at_the_thread((double)seconds);
  }
  return check_end();
}
