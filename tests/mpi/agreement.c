// MPI_Init and MPI_Finalize alone: the row coll/agreement counts the messages of the agreement about `coll lfc`.
// Each rank prints how long MPI_Init took, since a rank waits for late ones for 5 s only.
#include "check.h"

int main(int argc, char** argv) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  clock_gettime(CLOCK_MONOTONIC, &end);
  fprintf(stderr, "agreement rank=%d init_ms=%lld\n", me,
          (long long)(end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000);
  return check_end_quietly();
}
