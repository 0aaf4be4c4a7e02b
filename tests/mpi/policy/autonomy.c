/* Operations that a rank serves while it computes. Rank 1 computes without MPI calls. Meanwhile rank 0
 * puts into its window, adds to a counter in it, and sends it more messages than it has credits for.
 *
 *   mpirun -n 2 --mca btl lfc --mca osc rdma --mca osc_rdma_btls lfc mpi_autonomy [--within N]
 *
 * Rank 1 computes until all operations of a kind have ended: if one waits for the target to call MPI,
 * the job hangs. --within also requires the median of each kind to be at most N wake-up times. In a
 * wake-up time one thread wakes another, which sleeps in the kernel on another processor. The helper
 * thread of the computing rank is woken like that. A rank with only one processor cannot measure the
 * time and takes it from --wake-up NS. */
#define _GNU_SOURCE /* processors of threads */
#include "../check.h"
#include "../counters.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

enum { kPuts = 200, kAdds = 200, kMessages = 400, kWakeups = 51, kMessageBytes = 4096 };
enum { kThrough }; /* kinds of operations that have ended */
static const double kPause = 200e-6;

static int by_time(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double median(double* times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_time);
  return times[count / 2];
}

/* --- The cost of a wake-up --- */

static int bell;
static _Atomic double woken_at;

static void* sleeper(void* waker) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (cpu != *(const int*)waker) CPU_SET(cpu, &others);
  (void)pthread_setaffinity_np(pthread_self(), sizeof others, &others); /* if there are any */
  for (;;) {
    struct pollfd wait = {.fd = bell, .events = POLLIN};
    (void)poll(&wait, 1, -1);
    uint64_t count = 0;
    if (read(bell, &count, sizeof count) < 0) continue;
    if (count > 1) return NULL;
    woken_at = MPI_Wtime();
  }
}

static double wake_up_time(void) {
  static double times[kWakeups];
  pthread_t thread;
  int here = sched_getcpu();
  bell = eventfd(0, 0);
  require(bell >= 0 && pthread_create(&thread, NULL, sleeper, &here) == 0, "no thread");
  for (int i = 0; i < kWakeups; ++i) {
    const double pause = MPI_Wtime() + 300e-6;
    while (MPI_Wtime() < pause) continue;
    woken_at = 0;
    const uint64_t one = 1;
    const double from = MPI_Wtime();
    require(write(bell, &one, sizeof one) == sizeof one, "write");
    while (woken_at == 0) continue;
    times[i] = woken_at - from;
  }
  const uint64_t end = 2;
  require(write(bell, &end, sizeof end) == sizeof end, "write");
  pthread_join(thread, NULL);
  close(bell);
  return median(times, kWakeups);
}

/* --- The two ranks --- */

static volatile double sum;

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end)
    for (int i = 1; i < 100; ++i) sum += 1.0 / i;
}

static int64_t* memory;
static MPI_Win window;

static double worst_of(const char* what, double* times, int count, double wake_up, double within) {
  const double middle = median(times, count);
  printf("%s: median %.1f us, %.2f wake-ups; worst %.1f us\n", what, middle * 1e6, middle / wake_up,
         times[count - 1] * 1e6);
  require(within == 0 || middle <= within * wake_up, "%s: median of %.2f wake-ups, more than %.2f",
          what, middle / wake_up, within);
  return middle;
}

static void origin(double wake_up, double within) {
  static double times[kPuts + kAdds];
  if (wake_up == 0) wake_up = wake_up_time();
  printf("wake-up: %.1f us\n", wake_up * 1e6);
  MPI_Barrier(MPI_COMM_WORLD);
  compute(0.005); /* the other has begun to compute */
  for (int i = 0; i < kPuts; ++i) {
    const int64_t value = i;
    doing("put %d", i);
    compute(kPause); /* long enough to fall asleep */
    const double from = MPI_Wtime();
    MPI_Put(&value, 1, MPI_INT64_T, 1, 1 + i, 1, MPI_INT64_T, window);
    MPI_Win_flush(1, window);
    times[i] = MPI_Wtime() - from;
  }
  count_up(kThrough);
  worst_of("put and flush", times, kPuts, wake_up, within);
  MPI_Barrier(MPI_COMM_WORLD);

  compute(0.005);
  for (int i = 0; i < kAdds; ++i) {
    const int64_t one = 1;
    int64_t before = -1;
    doing("fetch-and-add %d", i);
    compute(kPause);
    const double from = MPI_Wtime();
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 0, MPI_SUM, window);
    MPI_Win_flush(1, window);
    times[i] = MPI_Wtime() - from;
    require(before == i, "fetch-and-add %d: %lld", i, (long long)before);
  }
  count_up(kThrough);
  worst_of("fetch-and-add", times, kAdds, wake_up, within);
  MPI_Barrier(MPI_COMM_WORLD);

  /* More than any window: unless a helper thread takes them, the sender waits for the computation. */
  compute(0.005);
  static char bytes[kMessageBytes];
  doing("messages beyond the credits");
  const double from = MPI_Wtime();
  for (int i = 0; i < kMessages; ++i) {
    fill(bytes, sizeof bytes, key_of(0, 1, (uint64_t)i));
    MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
  }
  printf("%d messages beyond the credits: %.1f us\n", kMessages, (MPI_Wtime() - from) * 1e6);
  count_up(kThrough);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void target(void) {
  for (int phase = 0; phase < 3; ++phase) {
    MPI_Barrier(MPI_COMM_WORLD);
    doing("computing in phase %d", phase);
    compute_until(kThrough, (unsigned)phase + 1);
    doing("the end of phase %d", phase);
    if (phase == 2) {
      static char bytes[kMessageBytes];
      for (int i = 0; i < kMessages; ++i) {
        MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(bytes, sizeof bytes, key_of(0, 1, (uint64_t)i), 0);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPuts; ++i)
    require(memory[1 + i] == i, "put %d: %lld", i, (long long)memory[1 + i]);
  require(memory[0] == kAdds, "counter: %lld", (long long)memory[0]);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  double within = 0;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--within") == 0) within = atof(argv[i + 1]);
  require(ranks == 2, "needs 2 ranks");
  require(open_counters(), "needs ranks that share a kernel");
  const MPI_Aint size = (1 + kPuts) * (MPI_Aint)sizeof *memory;
  memory = calloc(1, (size_t)size);
  MPI_Win_create(memory, size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  if (me == 0) {
    origin((double)option(argc, argv, "--wake-up", 0) * 1e-9, within);
  } else {
    target();
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  free(memory);
  return check_end();
}
