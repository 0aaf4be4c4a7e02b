// mpi_bench: figures of a transport as a program sees them, in plain MPI. Prints one JSON line per
// measurement on standard output.
//
//   mpirun -n 2 mpi_bench --bench latency:1-1K --bench bw:64K,1M --bench rate:8@1,64
//
// A measurement consists of repeats. A repeat has as many units as fill its share of the time for the
// point, so that the clock's resolution does not matter. Before and after the repeats, some units run
// in which the sender writes and the receiver checks every byte. All ranks compute the next number of
// units from times that they have agreed on, so they get the same number.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kMaxRepeats = 1000, kMaxWanted = 64, kMaxList = 64, kMinRepeats = 3, kRepeatsOfRounds = 30 };
static const size_t kWindowBytes = 64u << 20;  // a window of large messages is cut to this

int rank, ranks;
int allocate_windows;
int rewrite_sent;
double clock_cost;
double least_pause = 100e-6;
char where[256] = "MPI_Init";

static double budget = 0.2;  // seconds of measuring per point
static int wanted_repeats = 5;
static int limit = 120;    // seconds after which a point counts as hung
static long exactly;       // units to run once, instead of measuring
static int spread;         // messages in flight have a buffer each
static double resolution;  // smallest step of the clock, in seconds

// --- Measuring ---

typedef struct Timing {
  double wall;     // time of all units
  double counted;  // the part of it that the benchmark counts
} Timing;

static Timing timed(const Bench* bench, Point* p, long units) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double both[2];
  both[1] = bench->run(p, units);
  both[0] = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (Timing){.wall = both[0], .counted = both[1]};
}

static void verified(const Bench* bench, Point* p, size_t slot) {
  const size_t usual = p->stride;
  long units = (long)((1u << 20) / (p->size * (size_t)p->depth + 1));
  if (units < 2) units = 2;
  if (units > 50) units = 50;
  if (bench->flags & (kBurst | kRounds)) units = 1;
  p->verify = 1;
  p->stride = slot;
  timed(bench, p, units);
  p->verify = 0;
  p->stride = usual;
}

// Returns how many units fill the time of a repeat, and warms up. Uses the fastest of several trials,
// because a single one may have been interrupted.
static long calibrate(const Bench* bench, Point* p, double target) {
  double best = 1e9, spent = 0;
  for (long units = 1, looks = 1;; looks++) {
    const double wall = timed(bench, p, units).wall;
    const double each = (wall > resolution ? wall : resolution) / (double)units;
    if (each < best) best = each;
    spent += wall;
    const double fit = target / best < 1e9 ? target / best : 1e9;
    const int settled = looks >= 3 && fit < 2 * (double)units;
    if (settled || spent > 3 * target) return fit < 1 ? 1 : (long)fit;
    units = fit < 1 ? 1 : fit > 10 * (double)units ? 10 * units : (long)fit;
  }
}

static double quantile(const double* sorted, int count, double q) {
  const double at = q * (count - 1);
  const int low = (int)at;
  const int high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

// Prints the peak of this process's resident memory since its start, VmHWM.
static void show_peak(const Bench* bench, const Point* p) {
  FILE* status = fopen("/proc/self/status", "r");
  long kibibytes = 0;
  char line[256];
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kibibytes);
  if (status) fclose(status);
  if (kibibytes > 0)
    printf("{\"bench\":\"%s_peak\",\"size\":%zu,\"depth\":%d,\"median\":%.6g,\"unit\":\"MB\"}\n",
           bench->name, p->size, p->depth, (double)kibibytes * 1024 / 1e6);
}

static void measure(const Bench* bench, Point* p, size_t slot) {
  if (exactly > 0) {
    timed(bench, p, exactly);
    return;
  }
  double values[kMaxRepeats], total = 0, target = budget / wanted_repeats;
  if (target < 1000 * resolution) target = 1000 * resolution;
  verified(bench, p, slot);
  const int once = bench->flags & (kBurst | kRounds), rounds = bench->flags & kRounds;
  const long units = once ? 1 : calibrate(bench, p, target);
  const int most = rounds ? kRepeatsOfRounds : wanted_repeats;
  int repeats = 0;
  // A slow point has fewer repeats, unless its median is that of a fixed number of rounds.
  while (repeats < most && (rounds || repeats < kMinRepeats || total < 2 * budget)) {
    const Timing took = timed(bench, p, units);
    total += took.wall;
    values[repeats++] = bench->value(p, took.counted / (double)units);
  }
  verified(bench, p, slot);
  if (rank != 0) return;
  sort(values, repeats);
  printf("{\"bench\":\"%s%s\",\"size\":%zu,\"depth\":%d,\"ranks\":%d,\"median\":%.6g,\"min\":%.6g,",
         bench->name, rewrite_sent ? "_rewritten" : "", p->size, p->depth, ranks,
         quantile(values, repeats, 0.5), values[0]);
  printf("\"p25\":%.6g,\"p75\":%.6g,\"repeats\":%d,\"unit\":\"%s\",\"units\":%ld}\n",
         quantile(values, repeats, 0.25), quantile(values, repeats, 0.75), repeats, bench->unit,
         units);
  if (bench->flags & kBurst) show_peak(bench, p);
}

static void* memory(size_t bytes) {
  void* data = NULL;
  if (posix_memalign(&data, 4096, bytes) != 0) {
    fprintf(stderr, "mpi_bench: no memory for %zu bytes (%s)\n", bytes, where);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(data, 0, bytes);
  return data;
}

static void run_point(const Bench* bench, size_t size, int depth) {
  if (bench->flags & kWindows) {
    const size_t fitting = size ? kWindowBytes / size : kWindowBytes;
    if ((size_t)depth > fitting) depth = fitting < 4 ? 4 : (int)fitting;
  }
  snprintf(where, sizeof where, "%s, %zu bytes, depth %d", bench->name, size, depth);
  alarm((unsigned)limit);
  // Slots are a cache line apart.
  const size_t slot = (size + 127) / 64 * 64;
  const size_t slots = (size_t)(depth > ranks && !(bench->flags & kBurst) ? depth : ranks);
  Point p = {.size = size,
             .depth = depth,
             .pairs = 1,
             .window = MPI_WIN_NULL,
             .stride = spread ? slot : 0};
  p.out = memory(slot * slots);
  p.in = memory(slot * slots);
  p.requests = memory(2 * slots * sizeof(MPI_Request));
  if (!bench->begin || bench->begin(&p)) {
    measure(bench, &p, slot);
    if (bench->end) bench->end(&p);
  } else if (rank == 0) {
    printf(
        "{\"bench\":\"%s\",\"size\":%zu,\"absent\":\"not offered by this MPI or for so few "
        "ranks\"}\n",
        bench->name, size);
  }
  fflush(stdout);
  free(p.requests);
  free(p.in);
  free(p.out);
}

static void learn_clock(void) {
  enum { kReadings = 10000 };
  const double start = MPI_Wtime();
  double smallest = 1, last = start;
  for (int i = 0; i < kReadings; i++) {
    const double now = MPI_Wtime();
    if (now > last && now - last < smallest) smallest = now - last;
    last = now;
  }
  clock_cost = (last - start) / kReadings;
  resolution = smallest > MPI_Wtick() ? smallest : MPI_Wtick();
  MPI_Allreduce(MPI_IN_PLACE, &resolution, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

// --- Command line ---

static void die(const char* problem, const char* word) {
  if (rank == 0) fprintf(stderr, "mpi_bench: %s '%s' (--help tells)\n", problem, word);
  MPI_Finalize();
  exit(2);
}

static size_t parse_size(const char** text) {
  char* end;
  size_t value = strtoul(*text, &end, 10);
  if (end == *text) die("not a list of sizes:", *text);
  if (*end == 'K') {
    value <<= 10;
    end++;
  } else if (*end == 'M') {
    value <<= 20;
    end++;
  }
  *text = end;
  return value;
}

// "1,8-64,1M": single values, and ranges by powers of two. Ends at '@' or the end.
static int parse_list(const char* text, size_t* out) {
  int count = 0;
  while (*text && *text != '@') {
    const size_t first = parse_size(&text);
    size_t last = first;
    if (*text == '-') {
      text++;
      last = parse_size(&text);
    }
    for (size_t value = first; value <= last && count < kMaxList; value = value ? value * 2 : 1)
      out[count++] = value;
    if (*text == ',')
      text++;
    else if (*text && *text != '@')
      die("not a list of sizes:", text);
  }
  return count;
}

static void run_wanted(const char* spec) {
  const size_t length = strcspn(spec, ":@");
  const Bench* bench = NULL;
  for (int b = 0; b < bench_count; b++)
    if (strlen(benches[b].name) == length && strncmp(benches[b].name, spec, length) == 0)
      bench = &benches[b];
  if (!bench) {
    die("no such benchmark:", spec);
    return;
  }
  const char* at = strchr(spec, '@');
  size_t sizes[kMaxList], depths[kMaxList];
  const int size_count = parse_list(spec[length] == ':' ? spec + length + 1 : bench->sizes, sizes);
  const int depth_count = parse_list(at ? at + 1 : bench->depths, depths);
  const int burst = bench->flags & kBurst;
  for (int s = 0; s < size_count; s++) {
    for (int d = 0; d < depth_count; d++) {
      const size_t deepest = burst ? 100000000 : 100000, largest = burst ? kBurstWindow : 1u << 30;
      if (depths[d] < 1 || depths[d] > deepest || sizes[s] > largest) die("out of range:", spec);
      if (bench->flags & kEights && (sizes[s] == 0 || sizes[s] % 8 != 0))
        die("sizes must be multiples of 8:", spec);
      run_point(bench, sizes[s], (int)depths[d]);
    }
  }
}

static void help(void) {
  printf(
      "mpirun -n N mpi_bench [OPTIONS]: measures an MPI library; one JSON line per measurement\n"
      "  --bench NAME[:SIZES][@DEPTHS]  what to measure (may be repeated; default: everything); "
      "SIZES in bytes and\n"
      "                    DEPTHS (messages in flight, operations of a burst) like 8,64,1K-1M\n"
      "  --time SECONDS    measuring time per point (%.2g)\n"
      "  --repeats N       repeats per point (%d)\n"
      "  --limit SECONDS   end the job when a point takes longer (%d)\n"
      "  --pause SECONDS   o_s, o_r: let messages arrive for so long at least (%.2g)\n"
      "  --units N         run N units (round trips, windows, ...) once and print nothing: for "
      "tracing\n"
      "  --spread          each message in flight has a buffer of its own (default: they share "
      "one)\n"
      "  --rewrite         messages: write anew what is sent before each one, each in flight in a "
      "buffer of its own "
      "(default: the same bytes again)\n"
      "  --allocate        windows by MPI_Win_allocate, not MPI_Win_create\n",
      budget, wanted_repeats, limit, least_pause);
  for (int b = 0; b < bench_count; b++)
    printf("  %-16s %s [%s] (%s)\n", benches[b].name, benches[b].what, benches[b].unit,
           benches[b].sizes);
}

static void on_alarm(int signal_number) {
  (void)signal_number;
  static const char head[] = "mpi_bench: TOO LONG, giving up: ";
  ssize_t ignored = write(2, head, sizeof head - 1);
  ignored = write(2, where, strlen(where));
  ignored = write(2, "\n", 1);
  (void)ignored;
  _exit(75);
}

int main(int argc, char** argv) {
  const char* wanted[kMaxWanted];
  int wanted_count = 0;
  signal(SIGALRM, on_alarm);
  alarm(60);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; i++) {
    const char* word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(word, "--help") == 0) {
      if (rank == 0) help();
      MPI_Finalize();
      return 0;
    }
    if (strcmp(word, "--spread") == 0) {
      spread = 1;
      continue;
    }
    if (strcmp(word, "--rewrite") == 0) {
      rewrite_sent = spread = 1;  // a buffer in flight must not be written
      continue;
    }
    if (strcmp(word, "--allocate") == 0) {
      allocate_windows = 1;
      continue;
    }
    if (strcmp(word, "--bench") == 0 && wanted_count < kMaxWanted)
      wanted[wanted_count++] = value;
    else if (strcmp(word, "--time") == 0)
      budget = atof(value);
    else if (strcmp(word, "--repeats") == 0)
      wanted_repeats = atoi(value);
    else if (strcmp(word, "--units") == 0)
      exactly = atol(value);
    else if (strcmp(word, "--pause") == 0)
      least_pause = atof(value);
    else if (strcmp(word, "--limit") == 0)
      limit = atoi(value);
    else
      die("unknown option", word);
    i++;
  }
  if (ranks < 2) die("needs two ranks or more, not", "1");
  if (budget <= 0 || wanted_repeats < 1 || wanted_repeats > kMaxRepeats || limit < 1)
    die("out of range:", "--time, --repeats or --limit");
  learn_clock();
  if (rank == 0)
    printf(
        "{\"info\":\"mpi_bench\",\"ranks\":%d,\"clock_resolution\":%.3g,\"clock_cost\":%.3g,"
        "\"time\":%g}\n",
        ranks, resolution, clock_cost, budget);
  for (int w = 0; w < wanted_count; w++) run_wanted(wanted[w]);
  for (int b = 0; wanted_count == 0 && b < bench_count; b++) run_wanted(benches[b].name);
  snprintf(where, sizeof where, "MPI_Finalize");
  alarm(60);
  MPI_Finalize();
  return 0;
}
