// The law of progress, as a matrix. While one rank is in one call only (a row: it waits or polls in MPI, in one-sided
// calls, collectives, NEON or ordered broadcast), each kind of traffic to it (a column) is served, and soon.
//
// Rank 1 waits. Rank 0 makes the traffic, and has the third let the first one go only when all of it has been dealt
// with; the times are rank 0's. Between hosts in a chain (coll_lfc_fan 1) rank 1 also forwards rank 0's broadcasts to rank 2.
//   --row NAME, --column NAME   only those
//   --cell SECONDS              patience with one cell; then every rank tells where it is [30]
//   --bound MS                  what the median of a cell's operations may take; 0: any time [100]
#include "check.h"

#include <lfc_ordered.h>
#include <mpix_neon.h>

enum { kActor, kWaiter, kReleaser, kRanks };
enum { kOps = 5, kFlood = 300, kWords = 1024, kLarge = 1 << 18, kWordBytes = 8 };
enum { kGoTag = 1, kEnterTag, kReleaseTag, kTrafficTag, kSeenTag };
enum { kNeonTag = 9, kReleaseNeonTag = 5 };

static MPI_Comm pair;                         // of waiter 0 and releaser 1; null at the actor
static MPI_Comm ring;                         // the same two, as neighbours
static MPI_Comm broadcast;                    // of all
static MPI_Win created, allocated, lockable;  // of all: where the actor works
static MPI_Win flags, notes, locks;           // of all: where the waiter waits
static MPI_Win epochs, freed;                 // of the pair
static MPI_Group self_of_pair[2];
static int64_t *memory, *flag_memory;
static lfc_ordered* order;
static int released;  // by an ordered message
static MPI_Request announced, persistent;

static void handle(void* context, int sender, uint64_t number, const void* data, size_t size) {
  (void)context, (void)number, (void)data;
  if (sender == kReleaser && size == 1) released = 1;
}

// --- Rows: in what the waiter waits, and what the releaser does to let it go ---

static int value;
static void recv_value(void) {
  MPI_Recv(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void send_value(void) { MPI_Send(&value, 1, MPI_INT, kWaiter, kReleaseTag, MPI_COMM_WORLD); }
static void wait_receive(void) {
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void test_receive(void) {
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void probe(void) {
  MPI_Probe(kReleaser, kReleaseTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  recv_value();
}
static void iprobe(void) {
  for (int there = 0; !there;)
    MPI_Iprobe(kReleaser, kReleaseTag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  recv_value();
}
static void mprobe(void) {
  MPI_Message message;
  MPI_Mprobe(kReleaser, kReleaseTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
static void improbe(void) {
  MPI_Message message;
  for (int there = 0; !there;)
    MPI_Improbe(kReleaser, kReleaseTag, MPI_COMM_WORLD, &there, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
static void wait_for_any(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL};
  int which;
  MPI_Irecv(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
}
static void test_all(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL};
  MPI_Irecv(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD, &requests[1]);
  for (int done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}
static void sendrecv(void) {
  const int other = me == kWaiter ? kReleaser : kWaiter;
  int out = 1;
  MPI_Sendrecv(&out, 1, MPI_INT, other, kReleaseTag, &value, 1, MPI_INT, other, kReleaseTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void ssend(void) { MPI_Ssend(&value, 1, MPI_INT, kReleaser, kReleaseTag, MPI_COMM_WORLD); }
static void recv_from_waiter(void) {
  MPI_Recv(&value, 1, MPI_INT, kWaiter, kReleaseTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void barrier(void) { MPI_Barrier(pair); }
static void bcast(void) { MPI_Bcast(&value, 1, MPI_INT, 1, pair); }
static void allreduce(void) { MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, pair); }
static void reduce(void) {
  int result;
  MPI_Reduce(&value, &result, 1, MPI_INT, MPI_MAX, 0, pair);
}
static void allgather(void) {
  int all[2];
  MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, pair);
}
static void gather(void) {
  int all[2];
  MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, pair);
}
static void scatter(void) {
  int all[2] = {0};
  MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 1, pair);
}
static void alltoall(void) {
  int out[2] = {0}, in[2];
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, pair);
}
static void among_neighbours(void) {
  int in[2];
  MPI_Neighbor_allgather(&value, 1, MPI_INT, in, 1, MPI_INT, ring);
}
static void test_allreduce(void) {
  MPI_Request request;
  int in = 1;
  MPI_Iallreduce(&in, &value, 1, MPI_INT, MPI_MAX, pair, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void duplicate(void) {
  MPI_Comm copy;
  MPI_Comm_dup(pair, &copy);
  MPI_Comm_free(&copy);
}
static void ibarrier(void) {
  MPI_Request request;
  MPI_Ibarrier(pair, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void fence(void) { MPI_Win_fence(MPI_MODE_NOSUCCEED, epochs); }
static void post_wait(void) {
  MPI_Win_post(self_of_pair[1], 0, epochs);
  MPI_Win_wait(epochs);
}
static void post_test(void) {
  MPI_Win_post(self_of_pair[1], 0, epochs);
  for (int done = 0; !done;) MPI_Win_test(epochs, &done);
}
static void start_complete(void) {
  MPI_Win_start(self_of_pair[me == kWaiter], 0, epochs);
  MPI_Win_complete(epochs);
}
static void post_wait_for_waiter(void) {
  MPI_Win_post(self_of_pair[0], 0, epochs);
  MPI_Win_wait(epochs);
}
static void make_window(void) {
  if (pair != MPI_COMM_NULL)
    MPI_Win_create(memory, kWordBytes, kWordBytes, MPI_INFO_NULL, pair, &freed);
}
static void create_window(void) {
  make_window();
  MPI_Win_free(&freed);
}
static void free_window(void) { MPI_Win_free(&freed); }
static void hold_lock(void) {
  if (me == kReleaser) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kReleaser, 0, locks);
}
static void lock(void) {
  const int64_t one = 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kReleaser, 0, locks);
  MPI_Put(&one, 1, MPI_INT64_T, kReleaser, 0, 1, MPI_INT64_T, locks);
  MPI_Win_unlock(kReleaser, locks);
}
static void give_lock(void) { MPI_Win_unlock(kReleaser, locks); }
static void set_locked(int64_t to) {
  if (me != kReleaser) return;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kReleaser, 0, locks);
  MPI_Put(&to, 1, MPI_INT64_T, kReleaser, 0, 1, MPI_INT64_T, locks);
  MPI_Win_unlock(kReleaser, locks);
}
static void reset_locked(void) { set_locked(0); }
static void raise_locked(void) { set_locked(1); }
static void poll_by_lock(void) {
  for (int64_t seen = 0; seen == 0;) {
    MPI_Win_lock(MPI_LOCK_SHARED, kReleaser, 0, locks);
    MPI_Get(&seen, 1, MPI_INT64_T, kReleaser, 0, 1, MPI_INT64_T, locks);
    MPI_Win_unlock(kReleaser, locks);
  }
}
static void reset_flag(void) {
  if (me == kWaiter) flag_memory[0] = 0;
}
static void raise_flag(void) {
  const int64_t one = 1;
  MPI_Accumulate(&one, 1, MPI_INT64_T, kWaiter, 0, 1, MPI_INT64_T, MPI_REPLACE, flags);
  MPI_Win_flush(kWaiter, flags);
}
static void poll_own_window(void) {
  for (int64_t seen = 0; seen == 0;) {
    MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &seen, 1, MPI_INT64_T, kWaiter, 0, 1, MPI_INT64_T,
                       MPI_NO_OP, flags);
    MPI_Win_flush(kWaiter, flags);
  }
}
static void poll_by_rget(void) {
  for (int64_t seen = 0; seen == 0;) {
    MPI_Request request;
    MPI_Rget(&seen, 1, MPI_INT64_T, kWaiter, 0, 1, MPI_INT64_T, flags, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
static void poll_by_sync(void) {
  while (*(volatile int64_t*)flag_memory == 0) MPI_Win_sync(flags);
}
static void reset_other_flag(void) {
  if (me == kReleaser) flag_memory[0] = 0;
  if (me == kReleaser) MPI_Win_sync(flags);
}
static void raise_own_flag(void) {
  const int64_t one = 1;
  MPI_Accumulate(&one, 1, MPI_INT64_T, kReleaser, 0, 1, MPI_INT64_T, MPI_REPLACE, flags);
  MPI_Win_flush(kReleaser, flags);
}
static void poll_other_window(void) {
  const int64_t none = 0;
  for (int64_t seen = 0; seen == 0;) {
    MPI_Fetch_and_op(&none, &seen, MPI_INT64_T, kReleaser, 0, MPI_NO_OP, flags);
    MPI_Win_flush(kReleaser, flags);
  }
}
static void poll_locally(void) {
  const int64_t none = 0;
  for (int64_t seen = 0; seen == 0;) {
    MPI_Fetch_and_op(&none, &seen, MPI_INT64_T, kReleaser, 0, MPI_NO_OP, flags);
    MPI_Win_flush_local(kReleaser, flags);
  }
}
static void poll_all(void) {
  for (int64_t seen = 0; seen == 0;) {
    MPI_Get(&seen, 1, MPI_INT64_T, kReleaser, 0, 1, MPI_INT64_T, flags);
    MPI_Win_flush_all(flags);
  }
}
static void reset_note(void) {
  uint64_t old;
  if (me == kWaiter) MPIX_Win_reset_notify_value(notes, 0, &old);
}
static void wait_note(void) { MPIX_Win_wait_notify(notes, 0, 1); }
static void poll_note(void) {
  for (uint64_t seen = 0; seen == 0;) MPIX_Win_get_notify_value(notes, 0, &seen);
}
static void test_note(void) {
  for (int there = 0; !there;) MPIX_Win_test_notify(notes, 0, 1, &there);
}
static void give_note(void) {
  MPIX_Put_notify(NULL, 0, MPI_BYTE, kWaiter, 0, 0, MPI_BYTE, 0, notes);
}
static void wait_announced(void) {
  MPI_Start(&announced);
  MPI_Wait(&announced, MPI_STATUS_IGNORE);
}
static void notify_announced(void) { MPIX_Neon_notify(kWaiter, kReleaseNeonTag, notes); }
static void reset_released(void) { released = 0; }
static void poll_ordered(void) {
  while (!released) lfc_ordered_poll(order, NULL);
}
static void release_ordered(void) { lfc_ordered_bcast(order, "", 1, NULL); }

static const struct {
  const char* name;
  void (*wait)(void);     // the waiter
  void (*release)(void);  // the releaser
  void (*prepare)(void);  // all, before; or null
} rows[] = {
    {"MPI_Recv", recv_value, send_value, NULL},
    {"MPI_Wait", wait_receive, send_value, NULL},
    {"MPI_Test", test_receive, send_value, NULL},
    {"MPI_Probe", probe, send_value, NULL},
    {"MPI_Iprobe", iprobe, send_value, NULL},
    {"MPI_Mprobe", mprobe, send_value, NULL},
    {"MPI_Improbe", improbe, send_value, NULL},
    {"MPI_Waitany", wait_for_any, send_value, NULL},
    {"MPI_Testall", test_all, send_value, NULL},
    {"MPI_Sendrecv", sendrecv, sendrecv, NULL},
    {"MPI_Ssend", ssend, recv_from_waiter, NULL},
    {"MPI_Barrier", barrier, barrier, NULL},
    {"MPI_Bcast", bcast, bcast, NULL},
    {"MPI_Allreduce", allreduce, allreduce, NULL},
    {"MPI_Reduce", reduce, reduce, NULL},
    {"MPI_Allgather", allgather, allgather, NULL},
    {"MPI_Gather", gather, gather, NULL},
    {"MPI_Scatter", scatter, scatter, NULL},
    {"MPI_Alltoall", alltoall, alltoall, NULL},
    {"MPI_Neighbor_...", among_neighbours, among_neighbours, NULL},
    {"MPI_Ibarrier", ibarrier, ibarrier, NULL},
    {"Iallreduce, Test", test_allreduce, test_allreduce, NULL},
    {"MPI_Comm_dup", duplicate, duplicate, NULL},
    {"MPI_Win_create", create_window, create_window, NULL},
    {"MPI_Win_fence", fence, fence, NULL},
    {"MPI_Win_wait", post_wait, start_complete, NULL},
    {"MPI_Win_test", post_test, start_complete, NULL},
    {"MPI_Win_complete", start_complete, post_wait_for_waiter, NULL},
    {"MPI_Win_free", free_window, free_window, make_window},
    {"MPI_Win_lock", lock, give_lock, hold_lock},
    {"MPI_Win_unlock", poll_by_lock, raise_locked, reset_locked},
    {"flush, own window", poll_own_window, raise_flag, reset_flag},
    {"flush, other's", poll_other_window, raise_own_flag, reset_other_flag},
    {"MPI_Win_flush_local", poll_locally, raise_own_flag, reset_other_flag},
    {"MPI_Win_flush_all", poll_all, raise_own_flag, reset_other_flag},
    {"MPI_Rget", poll_by_rget, raise_flag, reset_flag},
    {"MPI_Win_sync", poll_by_sync, raise_flag, reset_flag},
    {"wait_notify", wait_note, give_note, reset_note},
    {"test_notify", test_note, give_note, reset_note},
    {"get_notify_value", poll_note, give_note, reset_note},
    {"announced buffer", wait_announced, notify_announced, NULL},
    {"lfc_ordered_poll", poll_ordered, release_ordered, reset_released},
};

// --- Columns: what the actor does to the waiter, kOps times; what the others do for it ---

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
// More than any window lets through; the last one tells that all have come.
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
static int sent[kOps];
static void expect_broadcasts(void) {
  for (int i = 0; i < kOps; ++i) MPI_Ibcast(&sent[i], 1, MPI_INT, kActor, broadcast, &pending[i]);
}
static void send_broadcast(void) {
  MPI_Request request;
  int out = 1;
  MPI_Ibcast(&out, 1, MPI_INT, kActor, broadcast, &request);
  MPI_Recv(&value, 1, MPI_INT, kReleaser, kSeenTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void receive_broadcasts(void) {
  for (int i = 0; i < kOps; ++i) {
    MPI_Request request;
    int in;
    MPI_Ibcast(&in, 1, MPI_INT, kActor, broadcast, &request);
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

static void set_up(void) {
  const MPI_Aint bytes = kWords * kWordBytes;
  memory = allocate((size_t)bytes * 3);
  memset(memory, 0, (size_t)bytes * 3);
  MPI_Comm_split(MPI_COMM_WORLD, me == kActor || me >= kRanks ? MPI_UNDEFINED : 0, me, &pair);
  MPI_Comm_dup(MPI_COMM_WORLD, &broadcast);
  void* own;
  MPI_Win_create(memory, bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  MPI_Win_allocate(bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &allocated);
  MPI_Win_create(memory + kWords, bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &lockable);
  MPI_Win_create(memory + 2 * kWords, kWordBytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &locks);
  flag_memory = allocate(kWordBytes);
  flag_memory[0] = 0;
  MPI_Win_create(flag_memory, kWordBytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &flags);
  MPI_Win_allocate(kWordBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &notes);
  MPI_Win_lock_all(0, created);
  MPI_Win_lock_all(0, allocated);
  MPI_Win_lock_all(0, flags);
  MPIX_Win_set_num_notify(notes, MPI_INFO_NULL, 1);
  if (me == kWaiter) {
    const int actor = kActor, releaser = kReleaser;
    MPIX_Neon_announce_init(0, 4, 1, &actor, kNeonTag, MPIX_NEON_PERSISTENT, notes, &persistent);
    MPI_Start(&persistent);
    MPIX_Neon_announce_init(4, 4, 1, &releaser, kReleaseNeonTag, 0, notes, &announced);
  }
  if (pair != MPI_COMM_NULL) {
    MPI_Cart_create(pair, 1, &(int){2}, &(int){0}, 0, &ring);
    MPI_Group both;
    MPI_Comm_group(pair, &both);
    for (int i = 0; i < 2; ++i) MPI_Group_incl(both, 1, &i, &self_of_pair[i]);
    MPI_Group_free(&both);
    MPI_Win_create(memory + 2 * kWords + 1, kWordBytes, kWordBytes, MPI_INFO_NULL, pair, &epochs);
  }
  const struct lfc_ordered_options options = {.packet = 64, .window = 16};
  const int error = lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &options, &order);
  require(error == LFC_ORDERED_OK, "ordered broadcast: %s", lfc_ordered_error(error));
}

static void tear_down(void) {
  doing("the end");
  lfc_ordered_close(&order);
  if (me == kWaiter) {
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
    MPI_Request_free(&announced);
  }
  MPI_Win_unlock_all(created);
  MPI_Win_unlock_all(allocated);
  MPI_Win_unlock_all(flags);
  MPI_Win* const all[] = {&created, &allocated, &lockable, &locks, &flags, &notes};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) MPI_Win_free(all[i]);
  if (pair != MPI_COMM_NULL) {
    MPI_Win_free(&epochs);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&pair);
    for (int i = 0; i < 2; ++i) MPI_Group_free(&self_of_pair[i]);
  }
  MPI_Comm_free(&broadcast);
  free(flag_memory);
  free(memory);
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
  const unsigned cell_limit = (unsigned)option(argc, argv, "--cell", 30);
  const double bound = (double)option(argc, argv, "--bound", 100) * 1e-3;
  int late = 0;
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
      if (bound > 0 && median > bound) {
        fprintf(stderr, "LATE row '%s', column '%s': %.1f ms\n", rows[row].name,
                columns[column].name, median * 1e3);
        ++late;
      }
    }
    if (me == 0) printf("\n");
    fflush(stdout);
  }
  alarm(cell_limit);
  tear_down();
  require(late == 0, "%d cells took longer than %.0f ms", late, bound * 1e3);
  return check_end();
}
