// Partitioned communication: an exchange between two ranks, both ways at once, in several numbers of partitions. For
// comparison it sends the whole as one message, and each partition as a message. Needs Open MPI 5.0:
//
//   mpicc -O2 -o partitioned perf/partitioned.c
//   mpirun -n 2 --mca btl lfc ./partitioned; mpirun -n 2 --mca btl sm,self ./partitioned
//
// Prints a line for each size: bytes of a partition, number of partitions, and three times. These are the least
// microseconds of all stretches: as one message, as one message for each partition, partitioned.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kStretches = 150, kUnits = 20, kMostParts = 64, kMostBytes = 4096 };

static char out[kMostParts * kMostBytes], in[kMostParts * kMostBytes];
static int peer, parts, bytes;
static MPI_Request requests[2 * kMostParts];

static void one_message(void) {
  MPI_Irecv(in, parts * bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, parts * bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void one_for_each(void) {
  for (int i = 0; i < parts; ++i)
    MPI_Irecv(in + i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < parts; ++i)
    MPI_Isend(out + i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[parts + i]);
  MPI_Waitall(2 * parts, requests, MPI_STATUSES_IGNORE);
}

static void partitioned(void) {
  MPI_Startall(1, &requests[0]);
  MPI_Startall(1, &requests[1]);
  for (int i = 0; i < parts; ++i) MPI_Pready(i, requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static double least(void (*unit)(void)) {
  double best = 1e9;
  for (int stretch = 0; stretch < kStretches; ++stretch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < kUnits; ++i) unit();
    const double each = (MPI_Wtime() - start) / kUnits * 1e6;
    if (each < best) best = each;
  }
  return best;
}

int main(int argc, char** argv) {
  static const int sizes[] = {64, 1024, 4096}, numbers[] = {1, 4, 16, 64};
  int me, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  peer = 1 - me;
  for (int size = 0; size < 3; ++size) {
    for (int number = 0; number < 4; ++number) {
      bytes = sizes[size];
      parts = numbers[number];
      const double whole = least(one_message), each = least(one_for_each);
      MPI_Precv_init(in, parts, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[0]);
      MPI_Psend_init(out, parts, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[1]);
      const double ours = least(partitioned);
      if (me == 0) printf("%5d B x %2d: %8.2f %8.2f %8.2f us\n", bytes, parts, whole, each, ours);
      fflush(stdout);
      MPI_Request_free(&requests[0]);
      MPI_Request_free(&requests[1]);
    }
  }
  MPI_Finalize();
  return 0;
}
