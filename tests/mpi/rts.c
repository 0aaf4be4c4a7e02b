// Large messages that their receiver would fetch, of all sizes around the limit up to which data is pushed behind
// the RTS. Some are expected and some are not. They come into memory that is not contiguous (such messages are
// never fetched), from any source, and after a probe. First one at a time, so that all are pushed; then many, so
// that some are not; and in both directions at once.
#include "check.h"

enum { kLargest = 300 * 1024, kAtOnce = 12 };

static unsigned char *sent[kAtOnce], *received[kAtOnce];

static size_t size_of(int i) {
  static const size_t around[] = {48 * 1024,  60 * 1024,  61 * 1024, 64 * 1024,
                                  120 * 1024, 128 * 1024, 256 * 1024};
  const size_t middle = around[i % (int)(sizeof around / sizeof around[0])];
  return middle - 40 + (size_t)(i * 7) % 80;
}

static void send_to(int peer, int round, int i, MPI_Request* request) {
  fill(sent[i], size_of(round + i), key_of(me, peer, (uint64_t)(round + i)));
  MPI_Isend(sent[i], (int)size_of(round + i), MPI_BYTE, peer, i, MPI_COMM_WORLD, request);
}

// Expected: receives are posted before the peer sends. Otherwise they are posted after the messages have arrived.
static void exchange(int peer, int round, bool expected) {
  MPI_Request requests[2 * kAtOnce];
  doing("round %d: %s messages with %d", round, expected ? "expected" : "unexpected", peer);
  if (expected) {
    for (int i = 0; i < kAtOnce; ++i)
      MPI_Irecv(received[i], kLargest, MPI_BYTE, round % 2 == 0 ? peer : MPI_ANY_SOURCE, i,
                MPI_COMM_WORLD, &requests[i]);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 99, NULL, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kAtOnce; ++i) send_to(peer, round, i, &requests[kAtOnce + i]);
  if (!expected) {
    for (int i = kAtOnce - 1; i >= 0; --i) {
      MPI_Status status;
      int count = 0;
      MPI_Probe(peer, i, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      require((size_t)count == size_of(round + i), "probed %d bytes", count);
      MPI_Irecv(received[i], count, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kAtOnce; ++i)
    verify(received[i], size_of(round + i), key_of(peer, me, (uint64_t)(round + i)), peer);
}

static void one_at_a_time(int peer, int round) {
  MPI_Request request;
  doing("round %d: one message with %d", round, peer);
  MPI_Irecv(received[0], kLargest, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
  MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 99, NULL, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Request sending;
  send_to(peer, round, 0, &sending);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  verify(received[0], size_of(round), key_of(peer, me, (uint64_t)round), peer);
}

// Every second byte: such a message begins with an RTS and is pushed, but not fetched.
static void with_gaps(int peer, int round) {
  MPI_Datatype gaps;
  const size_t size = size_of(round);
  MPI_Request request;
  doing("round %d: into gaps, with %d", round, peer);
  MPI_Type_vector((int)size, 1, 2, MPI_BYTE, &gaps);
  MPI_Type_commit(&gaps);
  unsigned char* memory = allocate(2 * size);
  MPI_Irecv(memory, 1, gaps, peer, 0, MPI_COMM_WORLD, &request);
  MPI_Request sending;
  send_to(peer, round, 0, &sending);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  for (size_t i = 0; i < size; ++i) received[0][i] = memory[2 * i];
  verify(received[0], size, key_of(peer, me, (uint64_t)round), peer);
  free(memory);
  MPI_Type_free(&gaps);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int peer = me ^ 1;
  for (int i = 0; i < kAtOnce; ++i) {
    sent[i] = allocate(kLargest);
    received[i] = allocate(kLargest);
  }
  for (int round = 0; round < 70 && peer < ranks; ++round) one_at_a_time(peer, round);
  for (int round = 0; round < 12 && peer < ranks; ++round) {
    exchange(peer, round, round % 3 != 0);
    exchange(peer, round + 100, false);
  }
  for (int round = 0; round < 12 && peer < ranks; ++round) with_gaps(peer, round);
  if (peer < ranks) exchange(peer, 50, true);
  return check_end();
}
