// Calls of MPI from a thread with a small stack of 64 KiB, as runtimes with light threads provide.
#include "check.h"

#include <pthread.h>

enum { kStack = 64 * 1024, kLarge = 1 << 20, kMostRanks = 64 };

static unsigned char large_out[kLarge], large_in[kLarge];
static int one_each[kMostRanks], others[kMostRanks];

static void check_others(const char* what, int expected_of_first) {
  for (int i = 0; i < ranks; ++i)
    require(others[i] == expected_of_first + i, "%s: %d from rank %d, not %d", what, others[i], i,
            expected_of_first + i);
}

static void collectives(void) {
  int sum = -1;
  doing("allgather");
  MPI_Allgather(&me, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
  check_others("allgather", 0);
  doing("alltoall");
  for (int i = 0; i < ranks; ++i) one_each[i] = me + i;
  MPI_Alltoall(one_each, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
  check_others("alltoall", me);
  doing("reduce_scatter_block");
  for (int i = 0; i < ranks; ++i) one_each[i] = i;
  MPI_Reduce_scatter_block(one_each, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == me * ranks, "reduce_scatter_block: %d", sum);
  doing("allreduce");
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == ranks * (ranks - 1) / 2, "allreduce: %d", sum);
  doing("bcast");
  fill(large_out, kLarge, key_of(0, 0, 1));
  MPI_Bcast(me == 0 ? large_out : large_in, kLarge, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (me != 0) verify(large_in, kLarge, key_of(0, 0, 1), 0);
  doing("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void messages(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  for (size_t size = 1; size <= kLarge; size *= 4) {
    const uint64_t number = (uint64_t)size;
    doing("%zu bytes to %d, from %d", size, to, from);
    fill(large_out, size, key_of(me, to, number));
    MPI_Sendrecv(large_out, (int)size, MPI_BYTE, to, 0, large_in, (int)size, MPI_BYTE, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify(large_in, size, key_of(from, me, number), from);
  }
}

static void one_sided(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  int* word = NULL;
  int got = -1;
  MPI_Win window;
  doing("window");
  MPI_Win_allocate(sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&me, 1, MPI_INT, to, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  require(*word == from, "put: %d, not %d", *word, from);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
  MPI_Get(&got, 1, MPI_INT, to, 0, 1, MPI_INT, window);
  MPI_Win_unlock(to, window);
  require(got == me, "get: %d, not %d", got, me);
  MPI_Win_free(&window);
}

static void* work(void* unused) {
  collectives();
  messages();
  one_sided();
  return unused;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  require(ranks >= 2 && ranks <= kMostRanks, "needs 2 to %d ranks", kMostRanks);
  pthread_t thread;
  pthread_attr_t small;
  pthread_attr_init(&small);
  require(pthread_attr_setstacksize(&small, kStack) == 0, "no stack of %d bytes", kStack);
  require(pthread_create(&thread, &small, work, NULL) == 0, "cannot start a thread");
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
  return check_end();
}
