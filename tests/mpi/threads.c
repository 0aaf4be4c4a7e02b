// MPI_THREAD_MULTIPLE: in each rank several threads send, receive, probe and receive from any source at the same
// time, each kind checked. Some of them use the same communicator.
#include "check.h"

#include <pthread.h>

enum { kPairThreads = 2, kThreads = kPairThreads + 2, kLargest = 40000, kEnd = 999 };

static MPI_Comm shared_comm;  // ring threads and the probing thread, told apart by tag
static MPI_Comm server_comm;  // questions, for the any-source thread alone
static MPI_Comm answer_comm;
static int rounds;

static size_t size_of(uint64_t number) {
  const uint64_t draw = scramble(number);
  return draw % 8 == 0 ? 20000 + draw % 20000 : draw % 8 < 3 ? 3000 + draw % 3000 : draw % 300;
}

// A ring on tag `slot`: send to the right and receive from the left at once.
static void* ring(void* argument) {
  const int slot = *(const int*)argument;
  state_slot = slot;
  unsigned char* out = allocate(kLargest);
  unsigned char* in = allocate(kLargest);
  for (int round = 0; round < rounds; ++round) {
    const int distance = 1 + round % (ranks - 1);
    const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
    const uint64_t number = (uint64_t)(round * kThreads + slot);
    const size_t size = size_of(number);
    MPI_Request requests[2];
    doing("ring round %d: %zu bytes to %d, from %d", round, size, to, from);
    fill(out, size, key_of(me, to, number));
    MPI_Irecv(in, (int)size, MPI_BYTE, from, slot, shared_comm, &requests[0]);
    MPI_Isend(out, (int)size, MPI_BYTE, to, slot, shared_comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, size, key_of(from, me, number), from);
  }
  doing("ring done");
  free(in);
  free(out);
  return NULL;
}

// Sends unannounced sizes to the right; takes the left's by matched probe.
static void* prober(void* argument) {
  const int slot = *(const int*)argument;
  state_slot = slot;
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kLargest);
  unsigned char* in = allocate(kLargest);
  for (int round = 0; round < rounds; ++round) {
    const uint64_t number = (uint64_t)(round * kThreads + slot);
    const size_t size = size_of(number);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int count = -1;
    fill(out, size, key_of(me, to, number));
    doing("prober round %d: probe for %zu bytes from %d", round, size, from);
    MPI_Isend(out, (int)size, MPI_BYTE, to, slot, shared_comm, &request);
    MPI_Mprobe(from, slot, shared_comm, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    require((size_t)count == size, "peer %d, round %d: probed %d bytes, not %zu", from, round,
            count, size);
    MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
    verify(in, size, key_of(from, me, number), from);
    doing("prober round %d: send of %zu bytes to %d", round, size, to);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  doing("prober done");
  free(in);
  free(out);
  return NULL;
}

// Replies to requests from any source until every other rank has reported its end.
static void* server(void* argument) {
  state_slot = *(const int*)argument;
  int open = ranks - 1;
  while (open > 0) {
    MPI_Status status;
    int64_t question;
    doing("server: %d clients left", open);
    MPI_Recv(&question, 1, MPI_INT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, server_comm, &status);
    if (status.MPI_TAG == kEnd) {
      --open;
      continue;
    }
    const int64_t answer = question * 3 + me;
    MPI_Send(&answer, 1, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, answer_comm);
  }
  doing("server done");
  return NULL;
}

// The main thread sends requests to all servers.
static void client(void) {
  for (int round = 0; round < rounds; ++round)
    for (int i = 1; i < ranks; ++i) {
      const int to = (me + i) % ranks;
      int64_t answer = 0;
      const int64_t question = round * 1000 + me;
      doing("client round %d: answer from %d", round, to);
      MPI_Send(&question, 1, MPI_INT64_T, to, round % 900, server_comm);
      MPI_Recv(&answer, 1, MPI_INT64_T, to, round % 900, answer_comm, MPI_STATUS_IGNORE);
      require(answer == question * 3 + to, "peer %d: answer %lld to %lld", to, (long long)answer,
              (long long)question);
    }
  const int64_t bye = 0;
  for (int i = 0; i < ranks; ++i)
    if (i != me) MPI_Send(&bye, 1, MPI_INT64_T, i, kEnd, server_comm);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  require(ranks >= 2, "needs 2 ranks");
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (me == 0) printf("skipped: this MPI library provides thread level %d only\n", provided);
    return check_end();
  }
  rounds = long_run ? 5000 : 200;
  MPI_Comm_dup(MPI_COMM_WORLD, &shared_comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &server_comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &answer_comm);
  pthread_t threads[kThreads];
  int slots[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    slots[i] = i + 1;
    void* (*body)(void*) = i < kPairThreads ? ring : i == kPairThreads ? prober : server;
    require(pthread_create(&threads[i], NULL, body, &slots[i]) == 0, "cannot start thread %d", i);
  }
  client();
  doing("join");
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Comm_free(&shared_comm);
  MPI_Comm_free(&server_comm);
  MPI_Comm_free(&answer_comm);
  return check_end();
}
