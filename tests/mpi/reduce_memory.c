// A reduction much larger than the window, whose root is late: the contributions of the others do not pile up in
// any engine. (Between nodes; on one node there is nothing to pile up.)
#include "check.h"
#include "process.h"

// The peak of the process's resident memory since the last reset, in MiB.
static long high_water(void) {
  char line[256];
  long kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  require(file != NULL, "cannot read /proc/self/status");
  while (fgets(line, sizeof line, file) != NULL) (void)sscanf(line, "VmHWM: %ld", &kib);
  fclose(file);
  return kib / 1024;
}

static void reset_high_water(void) {
  FILE* file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

enum { kMiB = 40, kMost = 24, kCount = kMiB * 131072 };

static void reduce(bool blocking, const double* in, double* out) {
  for (int i = 0; i < kCount; ++i) out[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  reset_high_water();
  const long before = high_water();
  if (me == 0) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  doing("the reduction, %s", blocking ? "blocking" : "nonblocking");
  if (blocking) {
    MPI_Reduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Ireduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const long grown = high_water() - before;
  printf("rank %d: %ld MiB more for a reduction of %d\n", me, grown, kMiB);
  require(grown <= kMost, "%ld MiB more for a reduction of %d MiB", grown, kMiB);
  for (int i = 0; me == 0 && i < kCount; ++i)
    require(out[i] == 0.5 * ranks * (ranks - 1) + (double)ranks * (i % 10), "element %d: %g", i,
            out[i]);
}

int main(int argc, char** argv) {
  refuse_huge_pages();
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  double* in = allocate(kCount * sizeof *in);
  double* out = allocate(kCount * sizeof *out);
  for (int i = 0; i < kCount; ++i) in[i] = me + i % 10;
  reduce(false, in, out);
  reduce(true, in, out);
  MPI_Barrier(MPI_COMM_WORLD);
  free(in);
  free(out);
  return check_end();
}
