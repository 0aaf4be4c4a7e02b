// Messages to oneself: every size class, all send modes, persistent, probe, any source; also on MPI_COMM_SELF, and
// beside the same exchange with a neighbour.
#include "check.h"

enum { kLargest = 16 << 20 };

static unsigned char* out;
static unsigned char* in;

static void self(MPI_Comm comm, int rank, size_t size) {
  MPI_Request requests[2];
  MPI_Status status;
  const uint64_t key = key_of(me, me, size);
  fill(out, size, key);

  doing("self: posted receive, %zu bytes", size);
  memset(in, 0, size < 4096 ? size : 4096);
  MPI_Irecv(in, (int)size, MPI_BYTE, rank, 1, comm, &requests[0]);
  MPI_Isend(out, (int)size, MPI_BYTE, rank, 1, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify(in, size, key, me);

  doing("self: unexpected, probe any, %zu bytes", size);
  memset(in, 0, size < 4096 ? size : 4096);
  int count = -1;
  MPI_Isend(out, (int)size, MPI_BYTE, rank, 2, comm, &requests[0]);
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  require((size_t)count == size && status.MPI_SOURCE == rank,
          "self: probe says %d bytes from %d, not %zu", count, status.MPI_SOURCE, size);
  MPI_Recv(in, (int)size, MPI_BYTE, MPI_ANY_SOURCE, 2, comm, &status);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  verify(in, size, key, me);

  doing("self: sendrecv, %zu bytes", size);
  memset(in, 0, size < 4096 ? size : 4096);
  MPI_Sendrecv(out, (int)size, MPI_BYTE, rank, 3, in, (int)size, MPI_BYTE, rank, 3, comm, &status);
  verify(in, size, key, me);

  doing("self: ssend, %zu bytes", size);
  memset(in, 0, size < 4096 ? size : 4096);
  MPI_Irecv(in, (int)size, MPI_BYTE, rank, 4, comm, &requests[0]);
  MPI_Ssend(out, (int)size, MPI_BYTE, rank, 4, comm);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  verify(in, size, key, me);
}

static void persistent(size_t size) {
  MPI_Request requests[2];
  MPI_Recv_init(in, (int)size, MPI_BYTE, me, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, (int)size, MPI_BYTE, me, 5, MPI_COMM_WORLD, &requests[1]);
  for (uint64_t round = 0; round < 20; ++round) {
    doing("self: persistent round %d, %zu bytes", (int)round, size);
    fill(out, size, key_of(me, me, round));
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    verify(in, size, key_of(me, me, round), me);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

// Many to oneself unexpected, and in order.
static void many(int messages) {
  MPI_Request* requests = allocate((size_t)messages * sizeof *requests);
  int* numbers = allocate((size_t)messages * sizeof *numbers);
  for (int i = 0; i < messages; ++i) {
    numbers[i] = i;
    MPI_Isend(&numbers[i], 1, MPI_INT, me, 6, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < messages; ++i) {
    int number = -1;
    doing("self: many, %d of %d", i, messages);
    MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(number == i, "self: message %d came when %d was next", number, i);
  }
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  free(numbers);
  free(requests);
}

static void self_and_neighbour(void) {
  enum { kSize = 100000 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  MPI_Request requests[4];
  for (uint64_t round = 0; round < 20; ++round) {
    doing("self and neighbour, round %d", (int)round);
    fill(out, kSize, key_of(me, me, round));
    fill(out + kSize, kSize, key_of(me, to, round + 100));
    MPI_Irecv(in, kSize, MPI_BYTE, me, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + kSize, kSize, MPI_BYTE, from, 8, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out + kSize, kSize, MPI_BYTE, to, 8, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, kSize, MPI_BYTE, me, 7, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    verify(in, kSize, key_of(me, me, round), me);
    verify(in + kSize, kSize, key_of(from, me, round + 100), from);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  out = allocate(kLargest);
  in = allocate(kLargest);
  for (size_t size = 0; size <= kLargest / 16; size = size * 5 / 2 + 1) {
    self(MPI_COMM_WORLD, me, size);
    self(MPI_COMM_SELF, 0, size);
  }
  self(MPI_COMM_WORLD, me, kLargest);
  static const size_t sizes[] = {0, 8, 4096, 65536, 1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) persistent(sizes[i]);
  many(long_run ? 100000 : 3000);
  // Messages of a neighbour that is ahead would match the probes above, which take any source and any tag.
  MPI_Barrier(MPI_COMM_WORLD);
  self_and_neighbour();
  free(in);
  free(out);
  return check_end();
}
