// Collectives that run ahead must not hold up a message, or a collective of another communicator, that their
// receivers wait for first. In each part a rank begins more broadcasts than any buffer on the path can hold. The
// other ranks join them later, after the awaited event.
#include "check.h"

enum { kMost = 3000, kSize = 1024, kGroups = 4, kLarge = 9 * 1024 * 1024 };

static unsigned char* bytes;
static MPI_Request requests[kMost];

static unsigned char* buffer(int number) { return bytes + (size_t)number * kSize; }

static void prepare(int root, int count) {
  for (int i = 0; i < count; ++i)
    if (me == root)
      fill(buffer(i), kSize, key_of(root, root, (uint64_t)i));
    else
      memset(buffer(i), 0, kSize);
}

static void check(int root, int count) {
  for (int i = 0; i < count; ++i) verify(buffer(i), kSize, key_of(root, root, (uint64_t)i), root);
}

// Until they are as far as they can come without the other ranks.
static void test_all(int count) {
  const double end = MPI_Wtime() + 0.5;
  int done = 0;
  while (!done && MPI_Wtime() < end) MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
}

static void tell(int to, int from) {
  int word = 7;
  if (me == from) MPI_Send(&word, 1, MPI_INT, to, 5, MPI_COMM_WORLD);
  if (me == to) MPI_Recv(&word, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Nonblocking broadcasts by the sender of the message.
static void message_of_the_root(int count) {
  prepare(0, count);
  if (me != 0) {
    doing("receive, before %d broadcasts of rank 0", count);
    tell(me, 0);
  }
  doing("%d broadcasts of rank 0", count);
  for (int i = 0; i < count; ++i)
    MPI_Ibcast(buffer(i), kSize, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[i]);
  if (me == 0) {
    test_all(count);
    doing("send, after %d broadcasts", count);
    for (int rank = 1; rank < ranks; ++rank) tell(rank, 0);
  }
  doing("wait for %d broadcasts of rank 0", count);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  check(0, count);
}

// Blocking broadcasts that pass the sender of the message while it computes.
static void message_of_an_inner_node(int count) {
  prepare(0, count);
  if (me == 1) pause_seconds(0.5);
  doing("message from 1 to 2, before %d broadcasts of rank 0", count);
  tell(2, 1);
  for (int i = 0; i < count; ++i) {
    doing("broadcast %d of %d", i, count);
    MPI_Bcast(buffer(i), kSize, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  check(0, count);
}

// Broadcasts of several communicators, to ranks that wait for the last one first.
static void several_communicators(int count) {
  MPI_Comm all[kGroups];
  const int each = count / kGroups;
  for (int i = 0; i < kGroups; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    MPI_Barrier(all[i]);
  }
  prepare(0, each * kGroups);
  for (int step = 0; step < kGroups; ++step) {
    const int group = me == 0 ? step : kGroups - 1 - step;
    doing("%d broadcasts on communicator %d of %d", each, group, kGroups);
    for (int i = group * each; i < (group + 1) * each; ++i)
      MPI_Ibcast(buffer(i), kSize, MPI_BYTE, 0, all[group], &requests[i]);
    if (me != 0) MPI_Waitall(each, requests + group * each, MPI_STATUSES_IGNORE);
  }
  if (me == 0) test_all(each * kGroups);
  doing("message from 0, after all communicators");
  for (int rank = 1; rank < ranks; ++rank) tell(rank, 0);
  MPI_Waitall(each * kGroups, requests, MPI_STATUSES_IGNORE);
  check(0, each * kGroups);
  for (int i = 0; i < kGroups; ++i) MPI_Comm_free(&all[i]);
}

// A broadcast that is larger than any lead.
static void one_large(void) {
  unsigned char* large = allocate(kLarge);
  if (me == 0) fill(large, kLarge, 9);
  if (me != 0) {
    doing("receive, before a broadcast of %d bytes", kLarge);
    tell(me, 0);
  }
  MPI_Ibcast(large, kLarge, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
  if (me == 0) {
    test_all(1);
    doing("send, after a broadcast of %d bytes", kLarge);
    for (int rank = 1; rank < ranks; ++rank) tell(rank, 0);
  }
  doing("wait for a broadcast of %d bytes", kLarge);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  verify(large, kLarge, 9, 0);
  free(large);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  bytes = allocate((size_t)kMost * kSize);
  MPI_Barrier(MPI_COMM_WORLD);
  message_of_the_root(kMost);
  if (ranks > 2) message_of_an_inner_node(kMost);
  several_communicators(kMost);
  one_large();
  free(bytes);
  return check_end();
}
