// More messages begun to one rank than ob1 has numbers for (16 bits), while that rank is away and then
// slow: later ones must not overtake those that ob1 keeps for want of room, or one is taken for another.
//
// Option: --messages N.
#include "check.h"

static void flood(int messages) {
  uint64_t* data = allocate((size_t)messages * sizeof *data);
  MPI_Request* sends = allocate((size_t)messages * sizeof *sends);
  for (int i = 0; i < messages; ++i) {
    if (i % 1000 == 0) doing("begin of send %d of %d", i, messages);
    data[i] = key_of(0, 1, (uint64_t)i);
    MPI_Isend(&data[i], 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD, &sends[i]);
  }
  doing("end of %d sends", messages);
  MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE);
  free(sends);
  free(data);
}

static void drain(int messages) {
  for (int i = 0; i < messages; ++i) {
    uint64_t word = 0;
    if (i % 1000 == 0) doing("receive of message %d of %d", i, messages);
    MPI_Recv(&word, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(word == key_of(0, 1, (uint64_t)i), "another message came as number %d", i);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  const int messages = (int)option(argc, argv, "--messages", long_run ? 300000 : 4000);
  doing("barrier before the flood");
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) flood(messages);
  if (me == 1) {
    doing("pause");
    pause_seconds(0.05);
    drain(messages);
  }
  return check_end();
}
