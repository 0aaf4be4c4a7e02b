// Any source, any tag, both, and MPI_PROC_NULL. Each receive gets a message that it may get, and each message
// arrives once. No message relies on buffering: the last one may be received first.
#include "check.h"

enum { kTags = 5, kSize = 1500 };

static unsigned char data[kSize];

static void send_all(int root, int round) {
  static unsigned char out[kTags][kSize];
  MPI_Request sends[kTags];
  for (int tag = 0; tag < kTags; ++tag) {
    fill(out[tag], kSize, key_of(me, root, (uint64_t)(round * kTags + tag)));
    MPI_Isend(out[tag], kSize, MPI_BYTE, root, tag, MPI_COMM_WORLD, &sends[tag]);
  }
  doing("round %d: sends to %d", round, root);
  MPI_Waitall(kTags, sends, MPI_STATUSES_IGNORE);
}

static void receive(int source, int tag, int round, int* got, MPI_Status* status) {
  doing("round %d: receive (source %d, tag %d)", round, source, tag);
  memset(data, 0, kSize);
  MPI_Recv(data, kSize, MPI_BYTE, source, tag, MPI_COMM_WORLD, status);
  const int from = status->MPI_SOURCE, with = status->MPI_TAG;
  require(source == MPI_ANY_SOURCE || from == source, "asked for source %d, got %d", source, from);
  require(tag == MPI_ANY_TAG || with == tag, "asked for tag %d of %d, got %d", tag, from, with);
  verify(data, kSize, key_of(from, me, (uint64_t)(round * kTags + with)), from);
  require(++got[from * kTags + with] == 1, "peer %d, tag %d came twice", from, with);
}

static void collect(int round) {
  int* got = calloc((size_t)(ranks * kTags), sizeof *got);
  MPI_Status status;
  switch (round % 4) {
    case 0:  // any source, given tag, last tag first
      for (int tag = kTags - 1; tag >= 0; --tag)
        for (int i = 1; i < ranks; ++i) receive(MPI_ANY_SOURCE, tag, round, got, &status);
      break;
    case 1:  // given source, any tag: in the order sent
      for (int from = 0; from < ranks; ++from)
        for (int tag = 0; from != me && tag < kTags; ++tag) {
          receive(from, MPI_ANY_TAG, round, got, &status);
          require(status.MPI_TAG == tag, "peer %d: tag %d before %d", from, status.MPI_TAG, tag);
        }
      break;
    case 2:  // any, any: each source's tags in the order sent
      for (int i = 0; i < (ranks - 1) * kTags; ++i) {
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG, round, got, &status);
        require(status.MPI_TAG == 0 || got[status.MPI_SOURCE * kTags + status.MPI_TAG - 1] == 1,
                "peer %d: tag %d before its predecessor", status.MPI_SOURCE, status.MPI_TAG);
      }
      break;
    default:  // probe, then receive exactly what was probed
      for (int i = 0; i < (ranks - 1) * kTags; ++i) {
        doing("round %d: probe any", round);
        MPI_Status probed;
        int count = 0;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
        MPI_Get_count(&probed, MPI_BYTE, &count);
        require(count == kSize, "peer %d: probe says %d bytes", probed.MPI_SOURCE, count);
        receive(probed.MPI_SOURCE, probed.MPI_TAG, round, got, &status);
      }
  }
  free(got);
}

// Posted receives are matched in the order they were posted: the specific one was first.
static void posted_order(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  int in[3] = {-1, -1, -1};
  const int out[3] = {10, 20, 30};
  MPI_Request requests[3];
  MPI_Irecv(&in[0], 1, MPI_INT, from, 501, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(&in[2], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
  doing("posted order: barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  doing("posted order: three messages from %d", from);
  MPI_Send(&out[1], 1, MPI_INT, to, 500, MPI_COMM_WORLD);
  MPI_Send(&out[0], 1, MPI_INT, to, 501, MPI_COMM_WORLD);
  MPI_Send(&out[2], 1, MPI_INT, to, 501, MPI_COMM_WORLD);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i)
    require(in[i] == out[i], "peer %d: receive %d got %d, not %d", from, i, in[i], out[i]);
}

static void nobody(void) {
  MPI_Status status;
  int value = 42, count = -1;
  doing("MPI_PROC_NULL");
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  require(value == 42 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL,
          "MPI_PROC_NULL: value %d, count %d, source %d", value, count, status.MPI_SOURCE);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  for (int round = 0; round < (long_run ? 400 : 40); ++round) {
    const int root = round / 4 % ranks;
    if (me == root)
      collect(round);
    else
      send_all(root, round);
    doing("round %d: barrier", round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  posted_order();
  nobody();
  return check_end();
}
