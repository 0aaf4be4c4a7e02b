// The effect of containers on a rank: each mechanism between the ranks of a node is used once, if it is permitted.
// --not-dumpable: no other process may inspect this one.
#include "../mpi/check.h"

#include <sys/prctl.h>

enum { kSize = 200000 };

static void messages(void) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kSize);
  unsigned char* in = allocate(kSize);
  for (size_t size = 8; size <= kSize; size *= 5) {
    doing("%zu bytes from %d", size, from);
    fill(out, size, key_of(me, to, (int)size));
    MPI_Sendrecv(out, (int)size, MPI_BYTE, to, 1, in, (int)size, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    verify(in, size, key_of(from, me, (int)size), from);
  }
  free(in);
  free(out);
}

static void collectives(void) {
  int sum = 0;
  doing("allreduce");
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == ranks * (ranks - 1) / 2, "allreduce: %d", sum);
}

static void window(void) {
  int* base = NULL;
  MPI_Win win;
  doing("window");
  MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  *base = 0;
  MPI_Win_fence(0, win);
  for (int target = 0; target < ranks; ++target)
    MPI_Accumulate(&me, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  require(*base == ranks * (ranks - 1) / 2, "accumulate: %d", *base);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  if (has_option(argc, argv, "--not-dumpable")) prctl(PR_SET_DUMPABLE, 0);
  patience = 60;
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  // Longer than the time in which a dead rank is detected.
  for (int round = 0; round < 2; ++round) {
    messages();
    collectives();
    pause_seconds(0.15);
  }
  window();
  return check_end();
}
