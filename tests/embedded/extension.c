// The library with MPI: a message, a collective and a window, so that each component must be there.
#include "check.h"

__attribute__((visibility("default"))) int embedded_run(int argc, char** argv);

int embedded_run(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  int got = -1;
  doing("a message");
  MPI_Sendrecv(&me, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  require(got == left, "%d, not %d", got, left);
  int sum = 0;
  doing("a collective");
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == ranks * (ranks - 1) / 2, "the sum is %d", sum);
  MPI_Win win;
  int* memory = NULL;
  doing("a window");
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&me, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  require(*memory == left, "the window has %d, not %d", *memory, left);
  MPI_Win_free(&win);
  return check_end();
}
