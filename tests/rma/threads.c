// MPI_THREAD_MULTIPLE: threads of each rank work on the same windows at the same time: put, get, flush, accumulate,
// fetch_and_op and requests under lock_all. Each also uses a separate window with fences. Before that each makes
// and frees windows (with --churn nothing more). Then each locks a different target in a common window, and one
// thread has access epochs in a window that another exposes. At last one attaches and detaches memory of a dynamic
// window beside one that uses other memory of it.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { kThreads = 4, kRounds = 60, kWords = 512 };

static MPI_Win common, created, own[kThreads];
static int64_t *common_memory, *created_memory, *own_memory[kThreads];
static MPI_Comm comms[kThreads];

// Words 0 and 1 count; then a part for each origin and thread.
static MPI_Aint part_of(int rank, int thread) {
  return 8 + ((MPI_Aint)rank * kThreads + thread) * 4;
}

// Each makes, uses and frees windows while the others do; the first thread of the process is among them.
static void* churn(void* argument) {
  const int thread = (int)(intptr_t)argument;
  state_slot = thread + 1;
  for (int round = 0; round < kRounds; ++round) {
    int64_t* memory;
    MPI_Win win;
    const int64_t one = 1;
    doing("thread %d, window %d", thread, round);
    MPI_Win_allocate(sizeof *memory, 8, MPI_INFO_NULL, comms[thread], &memory, &win);
    *memory = 0;
    MPI_Win_fence(0, win);
    for (int i = 0; i < ranks; ++i)
      MPI_Accumulate(&one, 1, MPI_INT64_T, i, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_fence(0, win);
    require(*memory == ranks, "thread %d, window %d: %lld", thread, round, (long long)*memory);
    MPI_Win_free(&win);
  }
  return NULL;
}

static void* work(void* argument) {
  const int thread = (int)(intptr_t)argument;
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  MPI_Win both[2] = {common, created};
  state_slot = thread + 1;
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Win win = both[round % 2];
    const int target = (me + round) % ranks;
    const int64_t value = thread * 1000 + round, one = 1;
    int64_t back = -1, before = -1;
    doing("thread %d, round %d: put at %d", thread, round, target);
    if (round % 3 == 0) {
      MPI_Request request;
      MPI_Rput(&value, 1, MPI_INT64_T, target, part_of(me, thread), 1, MPI_INT64_T, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Put(&value, 1, MPI_INT64_T, target, part_of(me, thread), 1, MPI_INT64_T, win);
    }
    MPI_Win_flush(target, win);
    MPI_Get(&back, 1, MPI_INT64_T, target, part_of(me, thread), 1, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    require(back == value, "thread %d, round %d: %lld came back, not %lld", thread, round,
            (long long)back, (long long)value);
    doing("thread %d, round %d: counting", thread, round);
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 1, MPI_SUM, win);
    MPI_Win_flush(0, win);
    require(before >= 0 && before < (int64_t)kRounds * kThreads * ranks,
            "fetch_and_op brought %lld", (long long)before);
    if (round % 10 != 0) continue;
    doing("thread %d, round %d: fence", thread, round);
    MPI_Win_fence(0, own[thread]);
    MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, own[thread]);
    MPI_Win_fence(0, own[thread]);
    require(own_memory[thread][0] == value, "thread %d, round %d: fence brought %lld from %d",
            thread, round, (long long)own_memory[thread][0], left);
  }
  return NULL;
}

// --- Locks of several threads in one window: when all are released, a fence is permitted ---

enum { kLocks = 20000 };

static void* lock_one(void* argument) {
  const int target = (int)(intptr_t)argument;
  state_slot = target + 1;
  for (int round = 0; round < kLocks; ++round) {
    doing("lock of %d, round %d", target, round);
    const int64_t value = round;
    MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, common);
    MPI_Put(&value, 1, MPI_INT64_T, target, me, 1, MPI_INT64_T, common);
    MPI_Win_unlock(target, common);
  }
  return NULL;
}

static void locks(void) {
  pthread_t threads[kThreads];
  const int count = ranks < kThreads ? ranks : kThreads;
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, lock_one, (void*)(intptr_t)i);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  doing("fences after locks");
  MPI_Win_fence(MPI_MODE_NOPRECEDE, common);
  if (me < count)
    for (int i = 0; i < ranks; ++i)
      require(common_memory[i] == kLocks - 1, "rank %d put %lld last, not %d", i,
              (long long)common_memory[i], kLocks - 1);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, common);
}

// --- Access and exposure epochs of two threads in one window; their groups have another order ---

enum { kEpochs = 30001, kWithData = 1000 };  // the last one has data, too

static MPI_Group ordered_group(int first, int step) {
  MPI_Group all, group;
  int* members = calloc((size_t)ranks, sizeof *members);
  for (int i = 0; i < ranks; ++i) members[i] = (first + ranks + step * i) % ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, ranks, members, &group);
  MPI_Group_free(&all);
  free(members);
  return group;
}

static void* expose(void* argument) {
  MPI_Group group = ordered_group(me, -1);
  (void)argument;
  state_slot = 1;
  for (int round = 0; round < kEpochs; ++round) {
    doing("exposure epoch %d", round);
    MPI_Win_post(group, 0, common);
    MPI_Win_wait(common);
    for (int i = 0; round % kWithData == 0 && i < ranks; ++i)
      require(common_memory[i] == round, "epoch %d: %lld of rank %d", round,
              (long long)common_memory[i], i);
  }
  MPI_Group_free(&group);
  return NULL;
}

static void epochs(void) {
  MPI_Group group = ordered_group(me + 1, 1);
  pthread_t exposing;
  pthread_create(&exposing, NULL, expose, NULL);
  for (int round = 0; round < kEpochs; ++round) {
    const int64_t value = round;
    doing("access epoch %d", round);
    MPI_Win_start(group, 0, common);
    for (int i = 0; round % kWithData == 0 && i < ranks; ++i)
      MPI_Put(&value, 1, MPI_INT64_T, i, me, 1, MPI_INT64_T, common);
    MPI_Win_complete(common);
  }
  pthread_join(exposing, NULL);
  MPI_Group_free(&group);
}

static void in_threads(void* (*run)(void*)) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

// --- Memory of a dynamic window that stays attached, while another thread attaches and detaches other memory ---

enum { kPlaces = 2000, kKept = 1900, kTurns = 20 };

static MPI_Win dynamic;
static int64_t kept;
static atomic_bool over;

static void* use_kept(void* unused) {
  MPI_Aint at;
  (void)unused;
  state_slot = 1;
  MPI_Get_address(&kept, &at);
  for (int64_t value = 1; !over; ++value) {
    int64_t back = -1;
    doing("put %lld to memory that stays attached", (long long)value);
    MPI_Put(&value, 1, MPI_INT64_T, me, at, 1, MPI_INT64_T, dynamic);
    MPI_Win_flush(me, dynamic);
    MPI_Get(&back, 1, MPI_INT64_T, me, at, 1, MPI_INT64_T, dynamic);
    MPI_Win_flush(me, dynamic);
    require(back == value && kept == value, "put %lld: %lld is there, %lld came back",
            (long long)value, (long long)kept, (long long)back);
  }
  return NULL;
}

static void attach_beside(void) {
  static char places[kPlaces][64];
  pthread_t user;
  for (int turn = 0; turn < kTurns; ++turn) {
    doing("attach and detach, turn %d", turn);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    for (int i = 0; i < kPlaces; ++i) {
      if (i == kKept) MPI_Win_attach(dynamic, &kept, sizeof kept);
      MPI_Win_attach(dynamic, places[i], sizeof places[i]);
    }
    MPI_Win_lock_all(0, dynamic);
    over = false;
    pthread_create(&user, NULL, use_kept, NULL);
    for (int i = 0; i < kPlaces; ++i) MPI_Win_detach(dynamic, places[i]);
    over = true;
    pthread_join(user, NULL);
    MPI_Win_unlock_all(dynamic);
    MPI_Win_detach(dynamic, &kept);
    MPI_Win_free(&dynamic);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (me == 0) printf("skipped: this MPI has no MPI_THREAD_MULTIPLE\n");
    return check_end();
  }
  require(part_of(ranks, 0) <= kWords, "too many ranks");
  const MPI_Aint bytes = kWords * sizeof(int64_t);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  in_threads(churn);
  if (has_option(argc, argv, "--churn")) return check_end();
  MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &common_memory, &common);
  created_memory = allocate((size_t)bytes);
  MPI_Win_create(created_memory, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  memset(common_memory, 0, (size_t)bytes);
  memset(created_memory, 0, (size_t)bytes);
  for (int i = 0; i < kThreads; ++i)
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, comms[i], &own_memory[i], &own[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, common);
  MPI_Win_lock_all(0, created);
  in_threads(work);
  doing("unlock");
  MPI_Win_unlock_all(common);
  MPI_Win_unlock_all(created);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    const int64_t each = (int64_t)kRounds / 2 * kThreads * ranks;
    require(common_memory[0] == each && common_memory[1] == each && created_memory[0] == each &&
                created_memory[1] == each,
            "counted %lld %lld %lld %lld, not %lld", (long long)common_memory[0],
            (long long)common_memory[1], (long long)created_memory[0], (long long)created_memory[1],
            (long long)each);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  locks();
  epochs();
  attach_beside();
  for (int i = 0; i < kThreads; ++i) {
    MPI_Win_free(&own[i]);
    MPI_Comm_free(&comms[i]);
  }
  MPI_Win_free(&common);
  MPI_Win_free(&created);
  free(created_memory);
  return check_end();
}
