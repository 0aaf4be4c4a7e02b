// A rank that is always the last finds all others present, and all events that it waits for: its calls need not
// wait. Still, all or nearly all of them must serve the others, however long the rank computes in between.
//
// Rank 1 calls again and again. Before each call rank 0 has begun an operation on memory of rank 1 that only rank
// 1's engine can change, and nothing has changed it yet. Rank 2 does its part of those calls in time. The test
// counts how often rank 0 was served meanwhile.
//   --row NAME   only that
#include "check.h"
#include "counters.h"

#include <mpix_neon.h>

enum { kActor, kLate, kInTime, kRanks };
enum { kCalls = 120, kLeast = kCalls / 2, kLarge = 100000, kOverTag = 1 };
enum { kBegun };  // operations of the actor

static MPI_Comm pair;           // of the late one, 0, and the one in time, 1; null at the actor
static MPI_Win target;          // of all: where the actor works
static MPI_Win mapped, frames;  // of the pair: memory that neighbours map, and such as they do not
static MPI_Win notes;           // of all, with counters
static int value, values[2], results[2];
static char large[kLarge];
static int64_t memory[2];

static void barrier(void) { MPI_Barrier(pair); }
static void bcast(void) { MPI_Bcast(&value, 1, MPI_INT, 1, pair); }
static void bcast_large(void) { MPI_Bcast(large, kLarge, MPI_BYTE, 1, pair); }
static void allreduce(void) { MPI_Allreduce(&values[0], &value, 1, MPI_INT, MPI_SUM, pair); }
static void allgather(void) { MPI_Allgather(&value, 1, MPI_INT, results, 1, MPI_INT, pair); }
static void alltoall(void) { MPI_Alltoall(values, 1, MPI_INT, results, 1, MPI_INT, pair); }
static void reduce_scatter(void) {
  MPI_Reduce_scatter_block(values, results, 1, MPI_INT, MPI_SUM, pair);
}
static void ibarrier(void) {
  MPI_Request request;
  MPI_Ibarrier(pair, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void ibcast(void) {
  MPI_Request request;
  static int64_t sent; /* not 4 bytes, which LFC does not serve */
  MPI_Ibcast(&sent, 1, MPI_INT64_T, 1, pair, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void fence_mapped(void) { MPI_Win_fence(MPI_MODE_NOSUCCEED, mapped); }
static void fence_frames(void) { MPI_Win_fence(MPI_MODE_NOSUCCEED, frames); }
static void wait_note(void) {
  if (me == kInTime) {
    MPIX_Put_notify(NULL, 0, MPI_BYTE, kLate, 0, 0, MPI_BYTE, 0, notes);
  } else {
    MPIX_Win_wait_notify(notes, 0, 1);
  }
}
static void test_note(void) {
  int there = 0;
  if (me == kInTime) {
    MPIX_Put_notify(NULL, 0, MPI_BYTE, kLate, 0, 0, MPI_BYTE, 0, notes);
  } else {
    while (!there) MPIX_Win_test_notify(notes, 0, 1, &there);
  }
}
// Operations done by loads and stores never wait; with so little time between them, many calls may pass.
static void flush_mapped(void) {
  for (int i = 0; me == kLate && i < 64; ++i) {
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, mapped);
    MPI_Win_flush(1, mapped);
  }
}
// Copies by the kernel are complete as soon as they have begun, and take longer than many calls.
static void get_all_frames(void) {
  for (int i = 0; me == kLate && i < 4; ++i) {
    MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, frames);
    MPI_Win_flush_all(frames);
  }
}
static void lock_frames(void) {
  if (me == kLate) MPI_Win_lock_all(0, frames);
}
static void unlock_frames(void) {
  if (me == kLate) MPI_Win_unlock_all(frames);
}
static void lock_mapped(void) {
  if (me == kLate) MPI_Win_lock_all(0, mapped);
}
static void unlock_mapped(void) {
  if (me == kLate) MPI_Win_unlock_all(mapped);
}

static const struct {
  const char* name;
  void (*call)(void);
  void (*before)(void);  // or null
  void (*after)(void);
} rows[] = {
    {"MPI_Barrier", barrier, NULL, NULL},
    {"MPI_Bcast", bcast, NULL, NULL},
    {"MPI_Bcast, large", bcast_large, NULL, NULL},
    {"MPI_Allreduce", allreduce, NULL, NULL},
    {"MPI_Allgather", allgather, NULL, NULL},
    {"MPI_Alltoall", alltoall, NULL, NULL},
    {"MPI_Reduce_scatter_block", reduce_scatter, NULL, NULL},
    {"MPI_Ibarrier", ibarrier, NULL, NULL},
    {"MPI_Ibcast", ibcast, NULL, NULL},
    {"MPI_Win_fence, mapped", fence_mapped, NULL, NULL},
    {"MPI_Win_fence, frames", fence_frames, NULL, NULL},
    {"wait_notify", wait_note, NULL, NULL},
    {"test_notify", test_note, NULL, NULL},
    {"64 flushes, mapped", flush_mapped, lock_mapped, unlock_mapped},
    {"4 gets, flushes of all", get_all_frames, lock_frames, unlock_frames},
};
enum { kRows = sizeof rows / sizeof rows[0] };

static void act(void) {
  for (int over = 0; !over;) {
    const int64_t one = 1;
    int64_t old;
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, kLate, 0, MPI_SUM, target);
    count_up(kBegun);
    MPI_Win_flush(kLate, target);
    MPI_Iprobe(kLate, kOverTag, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, kLate, kOverTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Operations of the actor that are done: its engine adds 1 for each.
static unsigned served(void) { return (unsigned)*(volatile int64_t*)memory; }

static void wait_for_operation(void) {
  do {
    pause_seconds(0.0005);  // it computes
  } while (count_of(kBegun) <= served());
}

static void judge(int row, unsigned times) {
  printf("%-26s served %u times in %d calls\n", rows[row].name, times, kCalls);
  fflush(stdout);
  require(times >= kLeast, "row '%s': served %u times in %d calls", rows[row].name, times, kCalls);
}

static void run(int row) {
  doing("row '%s': beginning", rows[row].name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == kActor) {
    doing("row '%s': working on the late one's memory", rows[row].name);
    act();
    return;
  }
  if (rows[row].before != NULL) rows[row].before();
  const unsigned before = served();
  for (int i = 0; i < kCalls; ++i) {
    doing("row '%s': call %d", rows[row].name, i);
    if (me == kLate) wait_for_operation();
    rows[row].call();
  }
  if (me == kLate) judge(row, served() - before);
  if (rows[row].after != NULL) rows[row].after();
  doing("row '%s': ending", rows[row].name);
  if (me == kLate) MPI_Send(NULL, 0, MPI_BYTE, kActor, kOverTag, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* only = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--row") == 0) only = argv[i + 1];
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks == kRanks, "needs 3 ranks");
  require(open_counters(), "needs ranks that share a kernel");
  void* own;
  MPI_Comm_split(MPI_COMM_WORLD, me == kActor ? MPI_UNDEFINED : 0, me, &pair);
  MPI_Win_create(memory, 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &target);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &notes);
  MPIX_Win_set_num_notify(notes, MPI_INFO_NULL, 1);
  MPI_Win_lock_all(0, target);
  if (pair != MPI_COMM_NULL) {
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, pair, &own, &mapped);
    MPI_Win_create(memory + 1, 8, 1, MPI_INFO_NULL, pair, &frames);
  }
  for (int row = 0; row < kRows; ++row)
    if (only == NULL || strcmp(only, rows[row].name) == 0) run(row);
  doing("the end");
  MPI_Win_unlock_all(target);
  MPI_Win_free(&target);
  MPI_Win_free(&notes);
  if (pair != MPI_COMM_NULL) {
    MPI_Win_free(&mapped);
    MPI_Win_free(&frames);
    MPI_Comm_free(&pair);
  }
  return check_end();
}
