// Broadcasts along a chain of hosts, measured at its end, while the ranks in between are away from MPI: who
// forwards? For one rank on each of at least 3 hosts that share a kernel (scripts/lab), and `--mca coll_lfc_fan 1`.
//
//   chain [--sleep] [--stream N]
//
// The inner ranks are away until the last one has received everything. So the job hangs if a broadcast waits for
// them. Times and ratios are printed.
//
//   latency:  64 B and 64 KiB to the last rank, inner ranks in MPI_Bcast, and away.
//   stream:   N broadcasts of 64 B in a row to the last rank, inner ranks away. And the number of broadcasts of
//             64 KiB that arrive within a second, at which back-pressure begins.
//   pipeline: 64 packets: completion at the last rank by completion at the first inner one.
//
// Away ranks compute, or with --sleep sleep, which leaves the core to others.
#include "../check.h"
#include "../counters.h"

enum { kRounds = 41, kLargest = 2 << 20 };
enum { kBack };  // how often the last rank has called the inner ones back

static unsigned char* bytes;
static bool sleeps;
static int last;

// Not MPI_Wtime(), which begins anew in each process.
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static bool is_inner(void) { return me != 0 && me != last; }

// All ranks call this as often as the last one calls call_back().
static void be_away(void) {
  static unsigned times;
  ++times;
  if (!is_inner()) return;
  doing("away until rank %d has received all", last);
  if (sleeps)
    sleep_until(kBack, times);
  else
    compute_until(kBack, times);
}

static void call_back(void) {
  if (me == last) count_up(kBack);
}

// Broadcasts from rank 0 that contain their time of sending, one every `gap` seconds. Returns the median age that
// the last rank measured, and the worst one (valid there), in seconds.
static double latency(int size, bool away, double* worst) {
  double ages[kRounds];
  const double gap = 0.01;
  MPI_Barrier(MPI_COMM_WORLD);
  if (away) be_away();
  for (int i = 0; i < kRounds; ++i) {
    if (me == 0) {
      pause_seconds(gap);
      const double sent = now();
      memcpy(bytes, &sent, sizeof sent);
    }
    doing("broadcast %d of %d bytes, inner ranks %s", i, size, away ? "away" : "in MPI");
    MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    double sent = 0;
    memcpy(&sent, bytes, sizeof sent);
    ages[i] = now() - sent;
  }
  if (away) call_back();
  MPI_Barrier(MPI_COMM_WORLD);
  const double middle = median(ages, kRounds);
  *worst = ages[kRounds - 1];
  return middle;
}

static void show_latency(void) {
  const int sizes[] = {64, 65536};
  for (int i = 0; i < 2; ++i) {
    double worst = 0;
    (void)latency(sizes[i], false, &worst);
    const double idle = latency(sizes[i], false, &worst);
    const double away = latency(sizes[i], true, &worst);
    if (me == last)
      printf(
          "latency of %d B: %.1f us with inner ranks in MPI, %.1f us (worst %.1f) while they are "
          "away: ratio %.2f\n",
          sizes[i], idle * 1e6, away * 1e6, worst * 1e6, away / idle);
  }
}

static void broadcast(int size, int number) {
  if (me == 0) fill(bytes, (size_t)size, key_of(0, 0, (uint64_t)number));
  MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
  verify(bytes, (size_t)size, key_of(0, 0, (uint64_t)number), 0);
}

static void stream(int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  be_away();
  for (int i = 0; i < count; ++i) {
    doing("broadcast %d of %d of 64 bytes, inner ranks away", i, count);
    broadcast(64, i);
  }
  call_back();
  MPI_Barrier(MPI_COMM_WORLD);
}

// How many broadcasts the last rank has received within a second in which the inner ones are away (valid there).
static int large_stream(int size, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  double back = now() + 1;
  MPI_Bcast(&back, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (is_inner() && back > now()) pause_seconds(back - now());
  int before = 0;
  for (int i = 0; i < count; ++i) {
    doing("broadcast %d of %d of %d bytes", i, count, size);
    broadcast(size, i);
    before += now() < back;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return before;
}

static void show_stream(int count) {
  stream(count);
  const int large = large_stream(65536, 300);
  if (me == last)
    printf(
        "stream: %d broadcasts of 64 B were there before the inner ranks came back; of 64 KiB %d "
        "of "
        "300 within a second\n",
        count, large);
}

static void show_pipeline(void) {
  double took[2][kRounds];
  for (int i = 0; i < kRounds; ++i) {
    double start = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
      start = now();
      memcpy(bytes, &start, sizeof start);
    }
    MPI_Bcast(bytes, kLargest, MPI_BYTE, 0, MPI_COMM_WORLD);
    memcpy(&start, bytes, sizeof start);
    double age = now() - start, first = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) MPI_Send(&age, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD);
    if (me == last) {
      MPI_Recv(&first, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      took[0][i] = first;
      took[1][i] = age;
    }
  }
  if (me != last) return;
  const double near = median(took[0], kRounds), far = median(took[1], kRounds);
  printf("pipeline of %d bytes: %.0f us at the first inner rank, %.0f us at the last: ratio %.2f\n",
         kLargest, near * 1e6, far * 1e6, far / near);
}

int main(int argc, char** argv) {
  const int count = (int)option(argc, argv, "--stream", 0);
  sleeps = has_option(argc, argv, "--sleep");
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  if (ranks < 3) {
    if (me == 0) printf("skipped: a chain has at least 3 ranks\n");
    return check_end();
  }
  require(open_counters(), "needs ranks that share a kernel");
  last = ranks - 1;
  bytes = allocate(kLargest);
  memset(bytes, 0, kLargest);
  show_latency();
  if (count > 0) show_stream(count);
  show_pipeline();
  fflush(stdout);
  free(bytes);
  return check_end();
}
