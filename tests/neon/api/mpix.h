// mpix_neon.h: each of its calls, with each flag. Rank 1 is the origin, and rank 0 the target.
#pragma once
#include <mpix_neon.h>

#include "check.h"

enum { kWords = 32, kNamed = 3, kKept = 4, kCounters = 8 };
static MPI_Win win;
static uint64_t* words;  // the caller's window

// Each call returns MPI_SUCCESS.
static void works(int error, const char* call) {
  require(error == MPI_SUCCESS, "%s: %d", call, error);
}
#define CALL(call) works(call, #call)

static void wait_for(MPI_Request* request) { CALL(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void put_word(uint64_t value, int place, int tag, int flags, MPI_Request* request) {
  static uint64_t kept[kWords];
  kept[place] = value;
  CALL(MPIX_Neon_put(&kept[place], 1, MPI_UINT64_T, 0, tag, 8 * place, 1, MPI_UINT64_T, flags, win,
                     request));
}

static void expect(int place, uint64_t value) {
  require(words[place] == value, "word %d is %llu, not %llu", place,
          (unsigned long long)words[place], (unsigned long long)value);
}

static void expect_arrived(MPI_Request ann, int expected) {
  int count = 0;
  int who[2] = {-1, -1};
  do {
    CALL(MPIX_Neon_arrived(ann, &count, who));
  } while (count < expected);
  require(count == expected && (who[0] == 1 || who[0] == -1), "%d notified, rank %d", count,
          who[0]);
}

static void announced_target(void) {
  MPI_Request ann;
  const int one = 1;
  CALL(MPIX_Neon_announce_init(0, 8 * kWords, 1, &one, kNamed, 0, win, &ann));
  CALL(MPI_Start(&ann));  // a final put
  expect_arrived(ann, 1);
  wait_for(&ann);
  expect(0, 10);
  CALL(MPI_Start(&ann));  // NON_FINAL, STRONG and a notification
  wait_for(&ann);
  expect(1, 11);
  expect(2, 12);
  words[5] = 55;
  CALL(MPI_Start(&ann));  // two gets
  wait_for(&ann);
  CALL(MPI_Request_free(&ann));
  CALL(MPIX_Neon_announce_init(0, 8 * kWords, 1, &one, kKept, MPIX_NEON_PERSISTENT, win, &ann));
  CALL(MPI_Start(&ann));
  wait_for(&ann);  // at once
  expect_arrived(ann, 2);
  expect(3, 14);
  CALL(MPI_Request_free(&ann));
}

static void announced_origin(void) {
  MPI_Request request;
  uint64_t got = 0;
  put_word(10, 0, kNamed, MPIX_NEON_FINAL, &request);
  wait_for(&request);
  put_word(11, 1, kNamed, MPIX_NEON_NON_FINAL, NULL);
  put_word(12, 2, kNamed, MPIX_NEON_NON_FINAL | MPIX_NEON_STRONG, &request);
  wait_for(&request);
  CALL(MPIX_Neon_notify(0, kNamed, win));
  CALL(MPIX_Neon_complete(0, win));
  for (int final = 0; final < 2; ++final) {
    got = 0;
    CALL(MPIX_Neon_get(&got, 1, MPI_UINT64_T, 0, kNamed, 8 * 5, 1, MPI_UINT64_T,
                       final ? MPIX_NEON_FINAL : MPIX_NEON_NON_FINAL, win, &request));
    wait_for(&request);
    require(got == 55, "got %llu", (unsigned long long)got);
  }
  put_word(13, 3, kKept, MPIX_NEON_FINAL, &request);
  wait_for(&request);
  put_word(14, 3, kKept, MPIX_NEON_FINAL, NULL);
  CALL(MPIX_Neon_complete(MPIX_NEON_ALL, win));
}

static uint64_t value_of(int idx) {
  uint64_t value = 0;
  CALL(MPIX_Win_get_notify_value(win, idx, &value));
  return value;
}

static void counted_target(void) {
  int flag = 0;
  int which = -1;
  uint64_t before = 0;
  for (int idx = 0; idx < 6; ++idx) CALL(MPIX_Win_wait_notify(win, idx, 1));
  expect(10, 20);
  expect(11, 21);
  expect(12, 30 + 2);
  expect(13, 40 + 3);
  CALL(MPIX_Win_test_notify(win, 0, 1, &flag));
  require(flag == 1 && value_of(0) == 1, "counter 0: %d", flag);
  CALL(MPIX_Win_test_notify(win, 0, 2, &flag));
  require(flag == 0, "counter 0 is not 2");
  CALL(MPIX_Win_set_notify_value(win, 0, 7));
  CALL(MPIX_Win_reset_notify_value(win, 0, &before));
  require(before == 7 && value_of(0) == 0, "reset: %llu", (unsigned long long)before);
  CALL(MPIX_Win_waitsome_notify(win, 0, 6, &which));
  require(which == 1, "waitsome: %d", which);
}

static void counted_origin(void) {
  uint64_t out[4] = {20, 21, 2, 3};
  uint64_t in[3] = {0, 0, 0};
  MPI_Request request[2];
  CALL(MPIX_Put_notify(&out[0], 1, MPI_UINT64_T, 0, 80, 1, MPI_UINT64_T, 0, win));
  CALL(MPIX_Get_notify(&in[0], 1, MPI_UINT64_T, 0, 8 * 12, 1, MPI_UINT64_T, 1, win));
  CALL(MPIX_Rput_notify(&out[1], 1, MPI_UINT64_T, 0, 88, 1, MPI_UINT64_T, 2, win, &request[0]));
  CALL(MPIX_Rget_notify(&in[1], 1, MPI_UINT64_T, 0, 8 * 13, 1, MPI_UINT64_T, 3, win, &request[1]));
  CALL(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  CALL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  CALL(MPIX_Accumulate_notify(&out[2], 1, MPI_UINT64_T, 0, 8 * 12, 1, MPI_UINT64_T, MPI_SUM, 4,
                              win));
  CALL(MPIX_Get_accumulate_notify(&out[3], 1, MPI_UINT64_T, &in[2], 1, MPI_UINT64_T, 0, 8 * 13, 1,
                                  MPI_UINT64_T, MPI_SUM, 5, win));
  CALL(MPI_Win_unlock(0, win));
  require(in[0] == 30 && in[1] == 40 && in[2] == 40, "got %llu, %llu, %llu",
          (unsigned long long)in[0], (unsigned long long)in[1], (unsigned long long)in[2]);
}

static void mpix_calls(void) {
  int level = -1;
  int count = -1;
  doing("mpix_neon.h: announcements");
  MPI_Win_allocate(8 * kWords, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  memset(words, 0, 8 * kWords);
  CALL(MPIX_Neon_query(win, &level));
  require(level == MPIX_NEON_ABSENT, "level %d", level);
  CALL(MPIX_Neon_attach(win));
  CALL(MPIX_Neon_query(win, &level));
  require(level >= MPIX_NEON_EMULATED && level <= MPIX_NEON_ASYNC, "level %d", level);
  if (me == 0) announced_target();
  if (me == 1) announced_origin();
  doing("mpix_neon.h: counters");
  words[12] = 30;
  words[13] = 40;
  CALL(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, kCounters));
  CALL(MPIX_Win_get_num_notify(win, &count));
  require(count == kCounters, "%d counters", count);
  if (me == 0) counted_target();
  if (me == 1) counted_origin();
  MPI_Barrier(MPI_COMM_WORLD);
  CALL(MPI_Win_free(&win));
}
