// Very many ranks on one node: each starts, meets the others, replies to one, and ends. Prints the cost: seconds,
// memory (of shared pages its part) and open files. tests/fault/fat_node.sh compares it with Open MPI's own shared
// memory.
#include "../mpi/check.h"

#include "../mpi/process.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static long proportional_kib(void) {
  char line[256];
  long size = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  require(file != NULL, "cannot read smaps_rollup");
  while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Pss: %ld", &size) != 1) continue;
  fclose(file);
  return size;
}

static void alltoall(void) {
  uint64_t* out = allocate(sizeof *out * (size_t)ranks);
  uint64_t* in = allocate(sizeof *in * (size_t)ranks);
  doing("alltoall");
  for (int to = 0; to < ranks; ++to) out[to] = key_of(me, to, 1);
  MPI_Alltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from)
    require(in[from] == key_of(from, me, 1), "alltoall: wrong from %d", from);
  free(in);
  free(out);
}

// All ranks exchange messages with rank 0.
static void star(void) {
  uint64_t value = key_of(me, 0, 2);
  for (int n = 1; me == 0 && n < ranks; ++n) {
    MPI_Status status;
    doing("message %d of everybody", n);
    MPI_Recv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    require(value == key_of(status.MPI_SOURCE, 0, 2), "wrong from %d", status.MPI_SOURCE);
    MPI_Send(&value, 1, MPI_UINT64_T, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
  }
  if (me == 0) return;
  doing("answer of rank 0");
  MPI_Sendrecv_replace(&value, 1, MPI_UINT64_T, 0, 1, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const double start = now();
  patience = 500;
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const double seconds_of_start = now() - start;
  const long files = count_entries("/proc/self/fd");
  doing("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  alltoall();
  const double seconds = now() - begin;
  star();
  doing("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  const long more = count_entries("/proc/self/fd") - files;
  long memory = proportional_kib(), most = 0;
  MPI_Reduce(me == 0 ? MPI_IN_PLACE : &memory, &memory, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&more, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  require(more <= ranks - 1 + 3, "%ld files for %d peers", more, ranks - 1);
  if (me == 0)
    printf(
        "fat node: ranks %d init %.2f s alltoall %.2f s memory %ld KiB for each rank, files %ld "
        "and %ld (rank 0: %ld)\n",
        ranks, seconds_of_start, seconds, memory / ranks, files, most, more);
  return check_end();
}
