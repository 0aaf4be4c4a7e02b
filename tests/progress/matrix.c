// The law of progress, as a matrix. While one rank is in one call only, each kind of traffic to it (a column) is
// served, and soon. A row is the call: the rank waits or polls in MPI, in one-sided calls, collectives, NEON or
// ordered broadcast.
//
// Rank 1 waits. Rank 0 makes the traffic and measures the times. It lets rank 2 release rank 1 only when all
// traffic has been dealt with. Between hosts in a chain (coll_lfc_fan 1) rank 1 also forwards rank 0's broadcasts
// to rank 2.
//   --row NAME, --column NAME   only those
//   --cell SECONDS              limit of one cell; then every rank prints its position [90]
//   --bound MS                  limit of the median time of a cell's operations; 0: any time [0]
#include "check.h"
#include "matrix_rows.h"
#include "matrix_world.h"

// --- Columns: the operations of the actor on the waiter, kOps times, and the part of the others ---

static MPI_Request pending[kOps];
static char large[kOps][kLarge];

static void expect_messages(void) {
  for (int i = 0; i < kOps; ++i)
    MPI_Irecv(large[i], kLarge, MPI_BYTE, kActor, kTrafficTag, MPI_COMM_WORLD, &pending[i]);
}
static void finish_pending(void) { MPI_Waitall(kOps, pending, MPI_STATUSES_IGNORE); }
static void send_synchronously(void) {
  MPI_Ssend(large[0], 8, MPI_BYTE, kWaiter, kTrafficTag, MPI_COMM_WORLD);
}
static void send_large(void) {
  MPI_Send(large[0], kLarge, MPI_BYTE, kWaiter, kTrafficTag, MPI_COMM_WORLD);
}
// More than any window lets through; the last message reports that all have come.
static void send_flood(void) {
  for (int i = 0; i < kFlood; ++i) MPI_Send(&i, 1, MPI_INT, kWaiter, kSeenTag, MPI_COMM_WORLD);
  send_synchronously();
}
static void finish_flood(void) {
  for (int i = 0; i < kOps * kFlood; ++i)
    MPI_Recv(&value, 1, MPI_INT, kActor, kSeenTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  finish_pending();
}
static void put(void) {
  const int64_t one = 1;
  MPI_Put(&one, 1, MPI_INT64_T, kWaiter, 1, 1, MPI_INT64_T, created);
  MPI_Win_flush(kWaiter, created);
}
static void accumulate_created(void) {
  static int64_t ones[kWords];
  MPI_Accumulate(ones, kWords, MPI_INT64_T, kWaiter, 0, kWords, MPI_INT64_T, MPI_SUM, created);
  MPI_Win_flush(kWaiter, created);
}
static void fetch(MPI_Win win) {
  const int64_t one = 1;
  int64_t old;
  MPI_Fetch_and_op(&one, &old, MPI_INT64_T, kWaiter, 2, MPI_SUM, win);
  MPI_Win_flush(kWaiter, win);
}
static void fetch_created(void) { fetch(created); }
static void fetch_allocated(void) { fetch(allocated); }
static void take_lock(void) {
  const int64_t one = 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kWaiter, 0, lockable);
  MPI_Put(&one, 1, MPI_INT64_T, kWaiter, 3, 1, MPI_INT64_T, lockable);
  MPI_Win_unlock(kWaiter, lockable);
}
static int64_t sent[kOps];  // LFC does not serve broadcasts of 4 bytes
static void expect_broadcasts(void) {
  for (int i = 0; i < kOps; ++i)
    MPI_Ibcast(&sent[i], 1, MPI_INT64_T, kActor, broadcast, &pending[i]);
}
static void send_broadcast(void) {
  MPI_Request request;
  int64_t out = 1;
  MPI_Ibcast(&out, 1, MPI_INT64_T, kActor, broadcast, &request);
  MPI_Recv(&value, 1, MPI_INT, kReleaser, kSeenTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void receive_broadcasts(void) {
  for (int i = 0; i < kOps; ++i) {
    MPI_Request request;
    int64_t in;
    MPI_Ibcast(&in, 1, MPI_INT64_T, kActor, broadcast, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, kActor, kSeenTag, MPI_COMM_WORLD);
  }
}
static void send_ordered(void) {
  for (int i = 0; i < 20; ++i) {
    const int error = lfc_ordered_bcast(order, &i, sizeof i, NULL);
    require(error == LFC_ORDERED_OK, "ordered broadcast: %s", lfc_ordered_error(error));
  }
}
static void put_into_announced(void) {
  MPI_Request request;
  MPIX_Neon_put(&value, 1, MPI_INT, kWaiter, kNeonTag, 0, 1, MPI_INT,
                MPIX_NEON_FINAL | MPIX_NEON_STRONG, notes, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*act)(void);     // the actor, once for each operation
  void (*expect)(void);  // the waiter, before; or null
  void (*finish)(void);  // the waiter, after
  void (*help)(void);    // the releaser, meanwhile
} columns[] = {
    {"message", send_synchronously, expect_messages, finish_pending, NULL},
    {"flood", send_flood, expect_messages, finish_flood, NULL},
    {"large", send_large, expect_messages, finish_pending, NULL},
    {"put", put, NULL, NULL, NULL},
    {"accumulate", accumulate_created, NULL, NULL, NULL},
    {"fetch", fetch_created, NULL, NULL, NULL},
    {"allocated", fetch_allocated, NULL, NULL, NULL},
    {"lock", take_lock, NULL, NULL, NULL},
    {"broadcast", send_broadcast, expect_broadcasts, finish_pending, receive_broadcasts},
    {"ordered", send_ordered, NULL, NULL, NULL},
    {"NEON", put_into_announced, NULL, NULL, NULL},
};
enum { kRows = sizeof rows / sizeof rows[0], kColumns = sizeof columns / sizeof columns[0] };

// --- A cell ---

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double act(int row, int column) {
  double times[kOps];
  MPI_Recv(NULL, 0, MPI_BYTE, kWaiter, kEnterTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pause_seconds(0.0002);  // until it is inside
  for (int i = 0; i < kOps; ++i) {
    doing("row '%s', column '%s': operation %d", rows[row].name, columns[column].name, i);
    const double start = MPI_Wtime();
    columns[column].act();
    times[i] = MPI_Wtime() - start;
  }
  MPI_Send(NULL, 0, MPI_BYTE, kReleaser, kGoTag, MPI_COMM_WORLD);
  qsort(times, kOps, sizeof times[0], by_size);
  return times[kOps / 2];
}

// Returns the actor's median.
static double cell(int row, int column) {
  double median = 0;
  if (rows[row].prepare != NULL) rows[row].prepare();
  if (me == kWaiter && columns[column].expect != NULL) columns[column].expect();
  doing("row '%s', column '%s': beginning", rows[row].name, columns[column].name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == kActor) {
    median = act(row, column);
  } else if (me == kWaiter) {
    MPI_Send(NULL, 0, MPI_BYTE, kActor, kEnterTag, MPI_COMM_WORLD);
    doing("row '%s', column '%s': waiting", rows[row].name, columns[column].name);
    rows[row].wait();
    doing("row '%s', column '%s': after it", rows[row].name, columns[column].name);
    if (columns[column].finish != NULL) columns[column].finish();
  } else if (me == kReleaser) {
    doing("row '%s', column '%s': helping", rows[row].name, columns[column].name);
    if (columns[column].help != NULL) columns[column].help();
    MPI_Recv(NULL, 0, MPI_BYTE, kActor, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    doing("row '%s', column '%s': releasing", rows[row].name, columns[column].name);
    rows[row].release();
  }
  doing("row '%s', column '%s': ending", rows[row].name, columns[column].name);
  MPI_Barrier(MPI_COMM_WORLD);
  return median;
}

static const char* word_option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  return NULL;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks == kRanks, "needs 3 ranks");
  const char* only_row = word_option(argc, argv, "--row");
  const char* only_column = word_option(argc, argv, "--column");
  const unsigned cell_limit = (unsigned)option(argc, argv, "--cell", 90);
  const double bound = (double)option(argc, argv, "--bound", 0) * 1e-3;
  doing("setting up");
  set_up();
  if (me == 0) {
    printf("%-20s", "us");
    for (int column = 0; column < kColumns; ++column) printf(" %10s", columns[column].name);
    printf("\n");
  }
  for (int row = 0; row < kRows; ++row) {
    if (only_row != NULL && strcmp(only_row, rows[row].name) != 0) continue;
    if (me == 0) printf("%-20s", rows[row].name);
    for (int column = 0; column < kColumns; ++column) {
      if (only_column != NULL && strcmp(only_column, columns[column].name) != 0) continue;
      alarm(cell_limit);
      const double median = cell(row, column);
      if (me == 0) printf(" %10.1f", median * 1e6);
      if (bound > 0 && median > bound)
        late("row '%s', column '%s': %.1f ms, bound %.0f ms", rows[row].name, columns[column].name,
             median * 1e3, bound * 1e3);
    }
    if (me == 0) printf("\n");
    fflush(stdout);
  }
  alarm(cell_limit);
  tear_down();
  return check_end();
}
