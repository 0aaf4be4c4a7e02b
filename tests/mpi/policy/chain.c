// Broadcasts along a chain of hosts, seen from its end, while the ranks in between are away from MPI:
// who forwards? For one rank on each of at least 3 hosts that share a clock (scripts/lab), and
// `--mca coll_lfc_fan 1`.
//
//   chain [--busy SECONDS] [--sleep] [--ratio R] [--stream N] [--pipeline R]
//
// latency:  64 B and 64 KiB to the last rank, inner ranks in MPI_Bcast, and away for SECONDS (default
//           1): prints both and their ratio, and the worst; with --ratio R the best of up to five
//           tries must not be larger.
// stream:   N broadcasts of 64 B in a row must all be at the last rank before the inner ranks come
//           back; how many of 64 KiB are is printed: there back-pressure begins.
// pipeline: 64 packets: completion at the last rank by completion at the first inner one; at most R.
// Away is computing, or with --sleep sleeping, which leaves the core to others.
#include "../check.h"

enum { kTries = 5, kRounds = 41, kLargest = 2 << 20 };

static unsigned char* bytes;
static bool sleeps;
static bool failed;
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

static void be_away(double until) {
  if (sleeps && until > now()) pause_seconds(until - now());
  volatile double sink = 1;
  while (now() < until)
    for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001 + 1;
}

// Broadcasts from rank 0 that carry when they were sent, one every `gap` seconds; what the last rank
// found their median age and the worst to be (valid there), in seconds.
static double latency(int size, double busy, double* worst) {
  double ages[kRounds];
  const double gap = 0.01;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  const bool inner = me != 0 && me != last;
  if (inner && busy > 0) be_away(start + busy);
  for (int i = 0; i < kRounds; ++i) {
    if (me == 0) {
      pause_seconds(gap);
      const double sent = now();
      memcpy(bytes, &sent, sizeof sent);
    }
    MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    double sent = 0;
    memcpy(&sent, bytes, sizeof sent);
    ages[i] = now() - sent;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double middle = median(ages, kRounds);
  *worst = ages[kRounds - 1];
  return middle;
}

static void show_latency(double busy, double limit) {
  const int sizes[] = {64, 65536};
  for (int i = 0; i < 2; ++i) {
    double worst = 0, idle = 0, away = 0;
    (void)latency(sizes[i], 0, &worst);
    // The scheduler, too, can keep a packet waiting: the best of both.
    for (int tries = 0, more = 1; more != 0 && tries < kTries; ++tries) {
      const double now_idle = latency(sizes[i], 0, &worst);
      const double now_away = latency(sizes[i], busy, &worst);
      if (tries == 0 || now_idle < idle) idle = now_idle;
      if (tries == 0 || now_away < away) away = now_away;
      more = limit > 0 && away > limit * idle;
      MPI_Bcast(&more, 1, MPI_INT, last, MPI_COMM_WORLD);
      if (me == last)
        printf(
            "latency of %d B: %.1f us with inner ranks in MPI, %.1f us (worst %.1f) while they are "
            "away for %.1f s: ratio %.2f\n",
            sizes[i], now_idle * 1e6, now_away * 1e6, worst * 1e6, busy, now_away / now_idle);
    }
    if (me == last && limit > 0 && away > limit * idle) {
      printf("FAIL: the ratio of the best is %.2f, above %.2f\n", away / idle, limit);
      failed = true;
    }
  }
}

// How many of `count` broadcasts the last rank has before the inner ones are back (valid there).
static int delivered(int size, int count, double busy) {
  MPI_Barrier(MPI_COMM_WORLD);
  double back = now() + busy;
  MPI_Bcast(&back, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (me != 0 && me != last) be_away(back);
  int before = 0;
  for (int i = 0; i < count; ++i) {
    if (me == 0) fill(bytes, (size_t)size, key_of(0, 0, (uint64_t)i));
    MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    before += now() < back;
    verify(bytes, (size_t)size, key_of(0, 0, (uint64_t)i), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return before;
}

static void show_stream(int count, double busy) {
  const int small = delivered(64, count, busy);
  const int large = delivered(65536, 300, busy);
  if (me != last) return;
  printf(
      "stream: %d of %d broadcasts of 64 B were there before the inner ranks came back; of 64 KiB "
      "%d of 300\n",
      small, count, large);
  if (small < count) {
    printf("FAIL: not all of them\n");
    failed = true;
  }
}

static void show_pipeline(double limit) {
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
  if (limit > 0 && far > limit * near) {
    printf("FAIL: the ratio is above %.2f\n", limit);
    failed = true;
  }
}

static double real_option(int argc, char** argv, const char* name, double otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return atof(argv[i + 1]);
  return otherwise;
}

int main(int argc, char** argv) {
  const double busy = real_option(argc, argv, "--busy", 1);
  const double ratio = real_option(argc, argv, "--ratio", 0);
  const double pipeline = real_option(argc, argv, "--pipeline", 0);
  const int stream = (int)option(argc, argv, "--stream", 0);
  sleeps = has_option(argc, argv, "--sleep");
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  if (ranks < 3) {
    if (me == 0) printf("skipped: a chain has at least 3 ranks\n");
    return check_end();
  }
  last = ranks - 1;
  bytes = allocate(kLargest);
  memset(bytes, 0, kLargest);
  show_latency(busy, ratio);
  if (stream > 0) show_stream(stream, busy);
  show_pipeline(pipeline);
  fflush(stdout);
  int bad = failed, any = 0;
  MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  free(bytes);
  if (any != 0) {
    MPI_Finalize();
    return 1;
  }
  return check_end();
}
