// One rank computes without calling MPI. The others go on meanwhile, although each has sent it more messages than
// it can take. Afterwards it receives all of them, in order.
//
// With --independent the busy rank computes until the others are through: a rank that does not receive stalls only
// the sends to it, or the job hangs. (Open MPI's vader does not guarantee that: the fragments for the busy rank are
// then missing for the others.)
#include "check.h"
#include "counters.h"

enum { kSize = 1024, kMessages = 2000, kExchanges = 50 };
enum { kThrough };  // how often a rank has ended its exchanges

static bool independent;

static void compute(double seconds) {
  volatile double x = 1;
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
    for (int i = 0; i < 10000; ++i) x = x * 0.5 + 1;
}

static void round_of(int round, int busy, double seconds, MPI_Comm others) {
  if (me == busy) {
    if (independent) {
      doing("round %d: compute until the others are through", round);
      compute_until(kThrough, (unsigned)((round + 1) * (ranks - 1)));
    } else {
      doing("round %d: compute", round);
      compute(seconds);
    }
    unsigned char data[kSize];
    for (int from = 0; from < ranks; ++from)
      for (int i = 0; from != me && i < kMessages; ++i) {
        doing("after computing: message %d from %d", i, from);
        MPI_Recv(data, kSize, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(data, kSize, key_of(from, me, (uint64_t)i), from);
      }
    return;
  }
  MPI_Request* requests = allocate(kMessages * sizeof *requests);
  unsigned char* data = allocate((size_t)kMessages * kSize);
  const double start = MPI_Wtime();
  doing("isends to busy %d", busy);
  for (int i = 0; i < kMessages; ++i) {
    fill(data + i * kSize, kSize, key_of(me, busy, (uint64_t)i));
    MPI_Isend(data + i * kSize, kSize, MPI_BYTE, busy, 1, MPI_COMM_WORLD, &requests[i]);
  }
  int rank, size;
  MPI_Comm_rank(others, &rank);
  MPI_Comm_size(others, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char out[kSize], in[kSize];
  for (int i = 0; i < kExchanges; ++i) {
    doing("busy is %d: exchange %d with %d and %d of the others", busy, i, to, from);
    fill(out, kSize, key_of(rank, to, (uint64_t)i));
    MPI_Sendrecv(out, kSize, MPI_BYTE, to, 2, in, kSize, MPI_BYTE, from, 2, others,
                 MPI_STATUS_IGNORE);
    verify(in, kSize, key_of(from, rank, (uint64_t)i), from);
  }
  printf("sync_compute rank=%d exchange_seconds=%.2f\n", me, MPI_Wtime() - start);
  if (independent) count_up(kThrough);
  doing("isends to busy %d: wait", busy);
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  free(data);
  free(requests);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  const double seconds = (double)option(argc, argv, "--seconds", 2);
  independent = has_option(argc, argv, "--independent");
  require(!independent || open_counters(), "needs ranks that share a kernel");
  for (int round = 0; round < (long_run ? ranks : 2); ++round) {
    const int busy = round * (ranks - 1) % ranks;
    MPI_Comm others;
    MPI_Comm_split(MPI_COMM_WORLD, me == busy ? MPI_UNDEFINED : 0, me, &others);
    // The busy rank must be in its computation before the others begin, and connections made.
    doing("barrier of round %d", round);
    MPI_Barrier(MPI_COMM_WORLD);
    round_of(round, busy, seconds, others);
    if (others != MPI_COMM_NULL) MPI_Comm_free(&others);
    doing("end of round %d", round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return check_end();
}
