// More messages begun to one rank than ob1 has numbers for (16 bits), while that rank is away and then slow. Later
// messages must not overtake those that ob1 keeps for want of room, or one is matched as another. With more than
// two ranks, some messages go to the last one in between: it may be a local peer, and the other far away. With
// several threads each begins its share of the messages at the same time, with a separate tag.
//
// Options: --messages N, --threads N (1: MPI_THREAD_SINGLE).
#include "check.h"

#include <pthread.h>

enum {
  kEach = 40
}; /* of those to the second rank one more goes to the last one, if that is another */

static void flood(int messages, int tag) {
  const int more = ranks > 2 ? messages / kEach : 0;
  uint64_t* data = allocate((size_t)(messages + more) * sizeof *data);
  MPI_Request* sends = allocate((size_t)(messages + more) * sizeof *sends);
  int begun = 0;
  for (int i = 0; i < messages; ++i) {
    if (i % 1000 == 0) doing("begin of send %d of %d", i, messages);
    for (int last = 0; last < (more > 0 && i % kEach == kEach - 1 ? 2 : 1); ++last, ++begun) {
      const int to = last ? ranks - 1 : 1;
      data[begun] = key_of(0, to, (uint64_t)(last ? i / kEach : i));
      MPI_Isend(&data[begun], 1, MPI_UINT64_T, to, tag, MPI_COMM_WORLD, &sends[begun]);
    }
  }
  doing("end of %d sends", begun);
  MPI_Waitall(begun, sends, MPI_STATUSES_IGNORE);
  free(sends);
  free(data);
}

static void drain(int messages, int tag) {
  for (int i = 0; i < messages; ++i) {
    uint64_t word = 0;
    if (i % 1000 == 0) doing("receive of message %d of %d", i, messages);
    MPI_Recv(&word, 1, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(word == key_of(0, me, (uint64_t)i), "another message came as number %d", i);
  }
}

enum { kMostThreads = kStateSlots };
static int messages; /* of each thread */

static void* work(void* tag_of_thread) {
  const int tag = *(const int*)tag_of_thread;
  state_slot = tag;
  if (me == 0) flood(messages, tag);
  if (me == 1 || (me > 1 && me == ranks - 1)) {
    doing("pause");
    pause_seconds(0.05);
    drain(me == 1 ? messages : messages / kEach, tag);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = (int)option(argc, argv, "--threads", 1);
  check_start(&argc, &argv, threads == 1 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  require(ranks >= 2, "needs 2 ranks");
  require(threads >= 1 && threads <= kMostThreads, "takes 1 to %d threads", kMostThreads);
  messages = (int)option(argc, argv, "--messages", long_run ? 300000 : 4000) / threads;
  doing("barrier before the flood");
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_t others[kMostThreads];
  int tags[kMostThreads];
  for (int i = 0; i < threads; ++i) tags[i] = i;
  for (int i = 1; i < threads; ++i)
    require(pthread_create(&others[i], NULL, work, &tags[i]) == 0, "cannot start thread %d", i);
  work(&tags[0]);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return check_end();
}
