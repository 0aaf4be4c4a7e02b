// The rows of the matrix: the call in which the waiter waits, and the action of the releaser that ends it. For
// matrix.c alone.
#ifndef LFC_TESTS_PROGRESS_MATRIX_ROWS_H
#define LFC_TESTS_PROGRESS_MATRIX_ROWS_H

#include "matrix_world.h"

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

#endif
