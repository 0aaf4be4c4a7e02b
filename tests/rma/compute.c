// Operations at a target that computes. It makes no MPI call for a while, in which the origin puts, gets,
// accumulates, fetches and locks. They must be right in any case. With --independent the target computes until all
// of them have ended: if one waits for the target to call MPI, the job hangs.
#include "check.h"
#include "counters.h"

enum { kWords = 1024 };
enum {
  kAway,
  kThrough
};  // windows for which the target has left MPI, and the origin has ended its operations
static const double kPause = 1.0;

static MPI_Win win;
static int64_t* memory;
static double slowest;
static const char* slowest_name;

static void took(const char* what, double start) {
  const double seconds = MPI_Wtime() - start;
  if (seconds > slowest) slowest = seconds, slowest_name = what;
}

static void work_on_target(void) {
  int64_t values[kWords], back[64] = {0};
  for (int i = 0; i < kWords; ++i) values[i] = i + 1;
  MPI_Datatype every_other;
  MPI_Type_vector(64, 1, 2, MPI_INT64_T, &every_other);
  MPI_Type_commit(&every_other);

  doing("lock, put, flush");
  double start = MPI_Wtime();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Put(values, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win);
  MPI_Win_flush(1, win);
  took("lock, put, flush", start);
  doing("strided put");
  start = MPI_Wtime();
  MPI_Put(values, 64, MPI_INT64_T, 1, 100, 1, every_other, win);
  MPI_Win_flush(1, win);
  took("strided put", start);
  doing("get");
  start = MPI_Wtime();
  MPI_Get(back, 64, MPI_INT64_T, 1, 100, 1, every_other, win);
  MPI_Win_flush(1, win);
  took("get", start);
  for (int i = 0; i < 64; ++i)
    require(back[i] == i + 1, "strided get: word %d is %lld", i, (long long)back[i]);
  doing("accumulate");
  start = MPI_Wtime();
  MPI_Accumulate(values, 64, MPI_INT64_T, 1, 100, 1, every_other, MPI_SUM, win);
  MPI_Win_flush(1, win);
  took("accumulate", start);
  doing("fetch_and_op");
  int64_t old = -1;
  start = MPI_Wtime();
  MPI_Fetch_and_op(&values[4], &old, MPI_INT64_T, 1, 100, MPI_SUM, win);
  MPI_Win_flush(1, win);
  took("fetch_and_op", start);
  require(old == 2, "fetch_and_op found %lld", (long long)old);
  doing("unlock");
  start = MPI_Wtime();
  MPI_Win_unlock(1, win);
  took("unlock", start);
  MPI_Type_free(&every_other);
}

static void compute(double seconds) {
  volatile double sink = 1;
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
    for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  require(open_counters(), "needs ranks that share a kernel");
  const bool independent = has_option(argc, argv, "--independent");
  const MPI_Aint bytes = kWords * sizeof *memory;
  for (int flavor = 0; flavor < 2; ++flavor) {
    slowest = 0;
    if (flavor == 0) {
      memory = allocate((size_t)bytes);
      MPI_Win_create(memory, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
      MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    memset(memory, 0, (size_t)bytes);
    // Connections are made before any rank computes.
    if (me == 0) {
      int64_t zero = 0;
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      MPI_Accumulate(&zero, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, MPI_SUM, win);
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
      sleep_until(kAway, (unsigned)flavor + 1);
      work_on_target();
      count_up(kThrough);
      printf("slowest at a target that computes: %s, %.0f us\n", slowest_name, slowest * 1e6);
    } else if (me == 1) {
      count_up(kAway);
      doing("computing");
      if (independent)
        compute_until(kThrough, (unsigned)flavor + 1);
      else
        compute(kPause);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      for (int i = 0; i < 64; ++i)
        require(memory[100 + 2 * i] == 2 * (i + 1) + (i == 0 ? 5 : 0) && memory[101 + 2 * i] == 0,
                "word %d is %lld", 100 + 2 * i, (long long)memory[100 + 2 * i]);
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    if (flavor == 0) free(memory);
  }
  return check_end();
}
