// Pairs of ranks that exchange known numbers of messages, on communicators that are freed and on MPI_COMM_WORLD, by
// ordinary calls and by persistent requests. `--burst`: also more messages than channels keep before their receives, so
// that the key closes. Rank 0 prints how many all ranks have sent; tests/fault/channels_report.sh compares.
#include "check.h"

enum { kMessages = 400, kLong = 8192, kBurst = 600, kAfter = 50 };
enum { kOnFreed = 1, kOnWorld, kPersistent, kWild, kBursts };

static int partner;
static uint64_t ordinary, persistent;  // sent by this rank

static void exchange(MPI_Comm comm, int tag, int source, int size) {
  static char out[kLong], in[kLong];
  MPI_Request request;
  if (partner == MPI_PROC_NULL) return;
  MPI_Isend(out, size, MPI_BYTE, partner, tag, comm, &request);
  MPI_Recv(in, size, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ++ordinary;
}

static void exchange_ordinary(void) {
  MPI_Comm freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  doing("ordinary messages");
  for (int i = 0; i < kMessages; ++i) {
    exchange(freed, kOnFreed, partner, 8);
    exchange(MPI_COMM_WORLD, kOnWorld, partner, 8);
    if (i % 4 == 0) exchange(MPI_COMM_WORLD, kWild, MPI_ANY_SOURCE, 8);
  }
  exchange(freed, kOnFreed, partner, kLong);
  exchange(MPI_COMM_WORLD, kOnWorld, partner, kLong);
  MPI_Comm_free(&freed);
}

static void exchange_persistent(int size, int times) {
  static char out[kLong], in[kLong];
  MPI_Request requests[2];
  doing("%d persistent messages of %d bytes", times, size);
  MPI_Recv_init(in, size, MPI_BYTE, partner, kPersistent, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, size, MPI_BYTE, partner, kPersistent, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < times; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    ++persistent;
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

// The barriers order all messages of a burst before their receives.
static void burst(void) {
  doing("a burst");
  char bytes[8] = "";
  for (int round = 0; round < 2; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kBurst; ++i)
      MPI_Send(bytes, sizeof bytes, MPI_BYTE, partner, kBursts, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kBurst; ++i)
      MPI_Recv(bytes, sizeof bytes, MPI_BYTE, partner, kBursts, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ordinary += kBurst;
    for (int i = 0; i < kAfter; ++i) exchange(MPI_COMM_WORLD, kBursts, partner, 8);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  partner = (me ^ 1) < ranks ? me ^ 1 : MPI_PROC_NULL;
  const int pairs = ranks / 2;
  exchange_ordinary();
  exchange_persistent(8, kMessages);
  exchange_persistent(kLong, 1);
  if (has_option(argc, argv, "--burst")) burst();
  if (me == 0)
    printf("sent ordinary=%llu persistent=%llu\n", 2ULL * (unsigned)pairs * ordinary,
           2ULL * (unsigned)pairs * persistent);
  return check_end();
}
