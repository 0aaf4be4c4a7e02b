// Sessions one after the other, and then MPI_Init: each time Open MPI closes all components and opens them again.
// Each one runs messages, a collective and partitioned communication.
#include "session.h"

enum { kPartitions = 4, kEach = 1000 };

static void message(MPI_Comm comm, int turn) {
  enum { kBytes = 200000 };
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kBytes);
  unsigned char* in = allocate(kBytes);
  doing("turn %d: message", turn);
  fill(out, kBytes, key_of(me, right, (uint64_t)turn));
  MPI_Sendrecv(out, kBytes, MPI_BYTE, right, 0, in, kBytes, MPI_BYTE, left, 0, comm,
               MPI_STATUS_IGNORE);
  verify(in, kBytes, key_of(left, me, (uint64_t)turn), left);
  free(out);
  free(in);
}

static void collective(MPI_Comm comm, int turn) {
  int sum = 0;
  doing("turn %d: allreduce", turn);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == ranks * (ranks - 1) / 2, "turn %d: the sum is %d", turn, sum);
}

static void partitioned(MPI_Comm comm, int turn) {
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kPartitions * kEach);
  unsigned char* in = allocate(kPartitions * kEach);
  MPI_Request requests[2];
  doing("turn %d: partitioned", turn);
  fill(out, kPartitions * kEach, key_of(me, right, (uint64_t)turn));
  MPI_Psend_init(out, kPartitions, kEach, MPI_BYTE, right, 0, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, kPartitions, kEach, MPI_BYTE, left, 0, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  for (int i = 0; i < kPartitions; ++i) MPI_Pready(i, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify(in, kPartitions * kEach, key_of(left, me, (uint64_t)turn), left);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}

static void all(MPI_Comm comm, int turn) {
  message(comm, turn);
  collective(comm, turn);
  partitioned(comm, turn);
}

int main(int argc, char** argv) {
  enum { kTurns = 4 };
  watch(argv);
  for (int turn = 0; turn < kTurns; ++turn) {
    char tag[32];
    snprintf(tag, sizeof tag, "turn %d", turn);
    struct session session = open_session(tag);
    all(session.comm, turn);
    close_session(&session);
  }
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  all(MPI_COMM_WORLD, kTurns);
  return check_end();
}
