// Notified access: counters that operations of other ranks increment, data first.
#include "check.h"

#include <mpix_neon.h>

enum { kCounters = 8 };

static MPI_Win win;
static unsigned char* memory;
static int few;      // --few: fewer puts, for frames so small that each takes thousands of them
static int created;  // windows of memory that local peers do not map: puts go in frames

static void make_window(size_t size) {
  if (created) {
    memory = allocate(size);
    MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  }
}

static void free_window(void) {
  MPI_Win_free(&win);
  if (created) free(memory);
}

static void open_window(size_t size) {
  make_window(size);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  memset(memory, 0, size);
  require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, kCounters) == MPI_SUCCESS, "set_num_notify");
  int count = 0;
  require(MPIX_Win_get_num_notify(win, &count) == MPI_SUCCESS && count == kCounters, "%d", count);
}

// Each rank puts into its right neighbour and waits for its left one. The only synchronisation is by the counters
// of both directions.
static void ring(size_t size, int rounds) {
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  open_window(size + 8);
  unsigned char* data = allocate(size);
  for (int round = 1; round <= rounds; ++round) {
    doing("ring of %zu bytes, round %d", size, round);
    fill(data, size, key_of(me, right, (uint64_t)round));
    // The neighbour has read the last put.
    if (round > 1) MPIX_Win_wait_notify(win, 1, (uint64_t)(round - 1));
    require(MPIX_Put_notify(data, (int)size, MPI_BYTE, right, 0, (int)size, MPI_BYTE, 0, win) ==
                MPI_SUCCESS,
            "put_notify");
    memset(data, 0xdd, size);  // ours again
    require(MPIX_Win_wait_notify(win, 0, (uint64_t)round) == MPI_SUCCESS, "wait_notify");
    verify(memory, size, key_of(left, me, (uint64_t)round), left);
    memset(memory, 0, size);
    require(MPIX_Put_notify(NULL, 0, MPI_BYTE, left, 0, 0, MPI_BYTE, 1, win) == MPI_SUCCESS,
            "free");
  }
  uint64_t value = 0;
  MPIX_Win_wait_notify(win, 1, (uint64_t)rounds);
  MPIX_Win_get_notify_value(win, 1, &value);
  require(value == (uint64_t)rounds, "counter 1 is %d", (int)value);
  free(data);
  MPI_Win_free(&win);
}

static void counters(void) {
  open_window(64);
  uint64_t value = 7;
  int flag = 1;
  doing("counters");
  MPIX_Win_test_notify(win, 3, 1, &flag);
  require(flag == 0, "nothing has come");
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    // All others increment counter 2 a thousand times each: an expected count.
    MPIX_Win_wait_notify(win, 2, 1000 * (uint64_t)(ranks - 1));
    MPIX_Win_reset_notify_value(win, 2, &value);
    require(value == 1000 * (uint64_t)(ranks - 1), "reset: %d", (int)value);
    MPIX_Win_get_notify_value(win, 2, &value);
    require(value == 0, "after reset: %d", (int)value);
    // Waits for any counter of a range.
    int seen[kCounters] = {0};
    for (int i = 1; i < ranks; ++i) {
      int idx = -1;
      require(MPIX_Win_waitsome_notify(win, 4, 4, &idx) == MPI_SUCCESS, "waitsome");
      require(idx >= 4 && idx < 8, "counter %d", idx);
      MPIX_Win_reset_notify_value(win, idx, &value);
      i += (int)value - 1;
      seen[idx] += (int)value;
    }
    int sum = 0;
    for (int i = 4; i < 8; ++i) sum += seen[i];
    require(sum == ranks - 1, "%d notifications of %d", sum, ranks - 1);
    MPIX_Win_set_notify_value(win, 5, 41);
    MPIX_Win_get_notify_value(win, 5, &value);
    require(value == 41, "set: %d", (int)value);
  } else {
    for (int i = 0; i < 1000; ++i)
      require(MPIX_Put_notify(NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, 2, win) == MPI_SUCCESS, "put");
    require(MPIX_Put_notify(NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, 4 + me % 4, win) == MPI_SUCCESS,
            "put");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

static void gets_and_types(void) {
  enum { kWords = 3000 };
  open_window(kWords * 8);
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  fill(memory, kWords * 8, key_of(me, me, 1));
  doing("get_notify");
  MPI_Barrier(MPI_COMM_WORLD);
  uint64_t words[kWords];
  require(MPIX_Get_notify(words, kWords, MPI_UINT64_T, right, 0, kWords, MPI_UINT64_T, 0, win) ==
              MPI_SUCCESS,
          "get_notify");
  verify(words, sizeof words, key_of(right, right, 1), right);
  // The neighbour has read: the memory may change.
  MPIX_Win_wait_notify(win, 0, 1);
  memset(memory, 0, kWords * 8);
  MPI_Barrier(MPI_COMM_WORLD);
  // Every third word at the target, one notification.
  MPI_Datatype third;
  MPI_Type_vector(kWords / 3, 1, 3, MPI_UINT64_T, &third);
  MPI_Type_commit(&third);
  MPI_Request request;
  doing("put_notify of a vector");
  require(MPIX_Rput_notify(words, kWords / 3, MPI_UINT64_T, right, 8, 1, third, 1, win, &request) ==
              MPI_SUCCESS,
          "rput_notify");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPIX_Win_wait_notify(win, 1, 1);
  const uint64_t key = key_of((left + 1) % ranks == me ? (me) : 0, me, 1);
  const uint64_t* got = (const uint64_t*)memory;
  for (size_t i = 0; i < kWords; ++i)
    require(got[i] == (i % 3 == 1 ? word_at(key, i / 3) : 0), "word %zu", i);
  MPI_Barrier(MPI_COMM_WORLD);
  uint64_t back[kWords / 3];
  doing("rget_notify of a vector");
  require(MPIX_Rget_notify(back, kWords / 3, MPI_UINT64_T, right, 8, 1, third, 2, win, &request) ==
              MPI_SUCCESS,
          "rget_notify");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(memcmp(back, words, sizeof back) == 0, "what was put is not what is got");
  MPIX_Win_wait_notify(win, 2, 1);
  uint64_t value = 0;
  MPIX_Win_get_notify_value(win, 1, &value);
  require(value == 1, "one put, %d notifications", (int)value);
  MPI_Type_free(&third);
  MPI_Barrier(MPI_COMM_WORLD);
  free_window();
}

// Blocks of `block` words, `stride` blocks apart; a negative stride goes backwards.
struct vector {
  int blocks, block, stride;
};

static size_t word_of(const struct vector* v, int element) {
  const int at = element / v->block;
  const int from = v->stride > 0 ? at : v->blocks - 1 - at;
  return (size_t)(from * v->block * abs(v->stride) + element % v->block);
}

static void put_vector(const struct vector* here, const struct vector* there) {
  enum { kWords = 1500, kApart = 3 };
  static uint64_t data[kWords * kApart], wanted[kWords * kApart];
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  doing("put of a vector of stride %d to one of stride %d in blocks of %d and %d words, %s",
        here->stride, there->stride, here->block, there->block, created ? "framed" : "mapped");
  open_window(sizeof wanted);
  memset(wanted, 0, sizeof wanted);
  for (int i = 0; i < kWords; ++i) {
    data[word_of(here, i)] = word_at(key_of(me, right, 1), (size_t)i);
    wanted[word_of(there, i)] = word_at(key_of(left, me, 1), (size_t)i);
  }
  MPI_Datatype from, to;
  MPI_Type_vector(here->blocks, here->block, here->block * here->stride, MPI_UINT64_T, &from);
  MPI_Type_vector(there->blocks, there->block, there->block * there->stride, MPI_UINT64_T, &to);
  MPI_Type_commit(&from);
  MPI_Type_commit(&to);
  require(MPIX_Put_notify(&data[word_of(here, 0)], 1, from, right,
                          (MPI_Aint)(8 * word_of(there, 0)), 1, to, 3, win) == MPI_SUCCESS,
          "put_notify");
  require(MPIX_Win_wait_notify(win, 3, 1) == MPI_SUCCESS, "wait_notify");
  require(memcmp(memory, wanted, sizeof wanted) == 0, "other words than were put");
  MPI_Barrier(MPI_COMM_WORLD);
  uint64_t value = 0;
  MPIX_Win_get_notify_value(win, 3, &value);
  require(value == 1, "one put, %d notifications", (int)value);
  MPI_Type_free(&from);
  MPI_Type_free(&to);
  free_window();
}

static void vectors(void) {
  static const struct vector kinds[] = {{1500, 1, 2}, {1500, 1, -3}, {15, 100, -2}, {3, 500, 3}};
  enum { kKinds = sizeof kinds / sizeof kinds[0] };
  const int step = few ? kKinds : 1;  // few: one kind for each kind of the origin
  for (int i = 0; i < kKinds * kKinds; i += step)
    put_vector(&kinds[i / kKinds], &kinds[(i / kKinds + i) % kKinds]);
}

// Each rank combines with rank 0: single words, and every second word of many, which no frame carries with its
// notification.
static void accumulates(void) {
  enum { kRounds = 50, kMany = 20000, kFirst = 4 };
  static int64_t ones[kMany], sums[kFirst + 2 * kMany];
  const int many = few ? 500 : kMany;
  open_window(sizeof sums);
  doing("accumulates, %s", created ? "framed" : "mapped");
  int64_t one = 1;
  int64_t before = -1;
  MPI_Datatype second;
  MPI_Type_vector(many, 1, 2, MPI_INT64_T, &second);
  MPI_Type_commit(&second);
  for (int i = 0; i < many; ++i) ones[i] = i;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kRounds; ++i)
    require(MPIX_Accumulate_notify(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, 0, win) ==
                MPI_SUCCESS,
            "accumulate_notify");
  require(MPIX_Get_accumulate_notify(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, 0, 8, 1,
                                     MPI_INT64_T, MPI_SUM, 1, win) == MPI_SUCCESS,
          "get_accumulate_notify");
  require(before >= 0 && before < ranks, "before: %d", (int)before);
  before = -1;
  require(MPIX_Get_accumulate_notify(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, 0, 8, 1,
                                     MPI_INT64_T, MPI_NO_OP, 2, win) == MPI_SUCCESS,
          "get_accumulate_notify that reads");
  require(before >= 1 && before <= ranks, "read: %d", (int)before);
  require(MPIX_Accumulate_notify(ones, many, MPI_INT64_T, 0, 8 * kFirst, 1, second, MPI_SUM, 3,
                                 win) == MPI_SUCCESS,
          "accumulate_notify of many");
  if (me == 0) {
    MPIX_Win_wait_notify(win, 0, kRounds * (uint64_t)ranks);
    for (int i = 1; i <= 3; ++i) MPIX_Win_wait_notify(win, i, (uint64_t)ranks);
    MPI_Win_sync(win);
    memcpy(sums, memory, sizeof sums);
    require(sums[0] == kRounds * ranks && sums[1] == ranks, "sums %d %d", (int)sums[0],
            (int)sums[1]);
    for (int i = 0; i < many; ++i)
      require(sums[kFirst + 2 * i] == (int64_t)i * ranks && sums[kFirst + 2 * i + 1] == 0,
              "word %d", i);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&second);
  free_window();
}

static void errors(void) {
  char data[8] = {0};
  doing("errors");
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  require(MPIX_Put_notify(data, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, 0, win) == MPI_ERR_WIN,
          "without counters");
  require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2 + (me == 0)) == MPI_ERR_ARG,
          "not the same");
  require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2) == MPI_SUCCESS, "set");
  require(MPIX_Put_notify(data, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, 2, win) == MPI_ERR_ARG, "index");
  require(MPIX_Put_notify(data, 8, MPI_BYTE, 0, 57, 8, MPI_BYTE, 0, win) == MPI_ERR_RMA_RANGE,
          "range");
  require(MPIX_Put_notify(data, 8, MPI_BYTE, 0, -1, 8, MPI_BYTE, 0, win) == MPI_ERR_RMA_RANGE,
          "negative");
  require(MPIX_Put_notify(data, 8, MPI_BYTE, ranks, 0, 8, MPI_BYTE, 0, win) == MPI_ERR_RANK,
          "rank");
  uint64_t value;
  require(MPIX_Win_get_notify_value(win, 2, &value) == MPI_ERR_ARG, "own index");
  int idx;
  require(MPIX_Win_waitsome_notify(win, 1, 2, &idx) == MPI_ERR_ARG, "range of indices");
  require(MPIX_Win_get_notify_value(win, 0, &value) == MPI_SUCCESS && value == 0,
          "counted an error");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

// Puts in many pieces, which go in frames, are still on their way when MPI frees the window and its memory.
static void freed_in_flight(void) {
  enum { kPieces = 4000, kWindows = 10 };
  const int puts = few ? 3 : 100;
  static char data[kPieces];
  MPI_Datatype apart;
  MPI_Type_vector(kPieces, 1, 2, MPI_BYTE, &apart);
  MPI_Type_commit(&apart);
  for (int round = 0; round < kWindows; ++round) {
    doing("window %d is freed while puts are on their way", round);
    make_window((size_t)2 * kPieces * (size_t)puts);
    MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 1);
    for (int i = 0; me == 1 && i < puts; ++i)
      MPIX_Put_notify(data, kPieces, MPI_BYTE, 0, 2 * kPieces * i, 1, apart, 0, win);
    free_window();
  }
  MPI_Type_free(&apart);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  few = has_option(argc, argv, "--few");
  ring(8, long_run ? 100000 : 2000);
  ring(100000, 30);
  counters();
  gets_and_types();
  vectors();
  accumulates();
  errors();
  created = 1;
  gets_and_types();
  vectors();
  accumulates();
  freed_in_flight();
  return check_end();
}
