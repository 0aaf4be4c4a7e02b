// MPI_THREAD_MULTIPLE: eight threads make the partitions of each epoch ready, each thread its own ones, in
// different orders. Meanwhile the rank's first thread waits, and the receiver tests its partitions with two
// threads. Each epoch has other contents.
//
//   partitioned_threads --rounds 5000
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 8, kEach = 4, kPartitions = kThreads * kEach, kLookers = 2 };

static int rounds;
static size_t each;  // bytes of a partition
static unsigned char* memory;
static MPI_Request request;
static atomic_int round_now;  // that may be worked on
static atomic_int finished;   // threads that have finished it

static void await_round(int round) {
  while (atomic_load(&round_now) < round) sched_yield();
}

static void* producer(void* argument) {
  const int slot = *(const int*)argument;
  uint64_t state = scramble(seed + (uint64_t)slot);
  state_slot = slot;
  for (int round = 1; round <= rounds; ++round) {
    await_round(round);
    int order[kEach];
    for (int i = 0; i < kEach; ++i) order[i] = i * kThreads + slot;
    for (int i = kEach; i > 1; --i) {
      const int j = (int)random_below(&state, (uint64_t)i);
      const int kept = order[i - 1];
      order[i - 1] = order[j];
      order[j] = kept;
    }
    for (int i = 0; i < kEach; ++i) {
      fill(memory + (size_t)order[i] * each, each,
           key_of(0, 1, (uint64_t)(round * kPartitions + order[i])));
      doing("round %d: ready %d", round, order[i]);
      MPI_Pready(order[i], request);
    }
    atomic_fetch_add(&finished, 1);
  }
  return NULL;
}

static void* looker(void* argument) {
  const int slot = *(const int*)argument;
  state_slot = slot;
  for (int round = 1; round <= rounds; ++round) {
    await_round(round);
    for (int i = slot; i < kPartitions; i += kLookers) {
      int flag = 0;
      doing("round %d: look at %d", round, i);
      MPI_Parrived(request, i, &flag);
      if (flag)
        verify(memory + (size_t)i * each, each, key_of(0, 1, (uint64_t)(round * kPartitions + i)),
               0);
    }
    atomic_fetch_add(&finished, 1);
  }
  return NULL;
}

static void run(size_t size) {
  pthread_t threads[kThreads];
  int slots[kThreads];
  const int count = me == 0 ? kThreads : kLookers;
  each = size;
  memory = allocate(kPartitions * each);
  atomic_store(&round_now, 0);
  if (me == 0)
    MPI_Psend_init(memory, kPartitions, (MPI_Count)each, MPI_BYTE, 1, 5, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(memory, kPartitions, (MPI_Count)each, MPI_BYTE, 0, 5, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
  for (int i = 0; i < count; ++i) {
    slots[i] = i;
    pthread_create(&threads[i], NULL, me == 0 ? producer : looker, &slots[i]);
  }
  state_slot = kStateSlots - 1;
  for (int round = 1; round <= rounds; ++round) {
    doing("round %d of %zu bytes: start", round, size);
    atomic_store(&finished, 0);
    MPI_Start(&request);
    atomic_store(&round_now, round);
    // A send is waited for while its partitions become ready; a thread that tests a receive needs it to be active.
    if (me != 0)
      while (atomic_load(&finished) < count) sched_yield();
    doing("round %d of %zu bytes: wait", round, size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me != 0)
      for (int i = 0; i < kPartitions; ++i)
        verify(memory + (size_t)i * each, each, key_of(0, 1, (uint64_t)(round * kPartitions + i)),
               0);
    while (atomic_load(&finished) < count) sched_yield();
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  MPI_Request_free(&request);
  free(memory);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  require(ranks == 2, "needs 2 ranks");
  rounds = (int)option(argc, argv, "--rounds", 100);
  run(24);
  run(3000);
  return check_end();
}
