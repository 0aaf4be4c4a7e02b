// The footprint of a job after all kinds of traffic: one line per rank with its threads and open files.
// tests/fault/not_asked.sh compares the lines with and without the plugin at hand.
#include "check.h"

#include "process.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  enum { kSize = 1 << 20 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kSize);
  unsigned char* in = allocate(kSize);
  fill(out, kSize, key_of(me, to, 1));
  doing("message from %d", from);
  MPI_Sendrecv(out, kSize, MPI_BYTE, to, 1, in, kSize, MPI_BYTE, from, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  verify(in, kSize, key_of(from, me, 1), from);
  int sum = 0;
  doing("allreduce");
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == ranks * (ranks - 1) / 2, "allreduce: %d", sum);
  MPI_Win win;
  int value = -1;
  doing("window");
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&me, 1, MPI_INT, to, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  require(value == from, "peer %d: put %d", from, value);
  printf("footprint rank=%d threads=%ld files=%ld\n", me, count_entries("/proc/self/task"),
         count_entries("/proc/self/fd"));
  fflush(stdout);
  MPI_Win_free(&win);
  free(in);
  free(out);
  return check_end();
}
