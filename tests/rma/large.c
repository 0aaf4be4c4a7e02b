// More than 2 GiB: windows, displacements, and one put and get of 2100 MiB. Rank 1's window is virtual, except for
// the pages that are touched; the origin's bytes repeat.
#include "check.h"

enum { kMiB = 1 << 20, kMost = 2100 };

int main(int argc, char** argv) {
  patience = 250;
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  const long mebibytes = option(argc, argv, "--mebibytes", kMost);
  const long free_mebibytes = sysconf(_SC_AVPHYS_PAGES) / 256;
  int enough = free_mebibytes > mebibytes + 500;
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!enough) {
    if (me == 0)
      printf("skipped: %ld MiB of memory are free, %ld are needed\n", free_mebibytes,
             mebibytes + 500);
    return check_end();
  }
  const MPI_Aint bytes = (MPI_Aint)mebibytes * kMiB;
  char *memory = NULL, *block = allocate(kMiB);
  MPI_Win win;
  MPI_Win_allocate(me == 1 ? bytes : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Datatype repeated, mebibyte;
  MPI_Type_create_hvector((int)mebibytes, kMiB, 0, MPI_BYTE, &repeated);
  MPI_Type_contiguous(kMiB, MPI_BYTE, &mebibyte);
  MPI_Type_commit(&repeated);
  MPI_Type_commit(&mebibyte);
  fill(block, kMiB, key_of(0, 1, 5));
  MPI_Win_fence(0, win);
  doing("put of %ld MiB", mebibytes);
  if (me == 0) MPI_Put(block, 1, repeated, 1, 0, (int)mebibytes, mebibyte, win);
  MPI_Win_fence(0, win);
  doing("looking at %ld MiB", mebibytes);
  for (long i = 0; me == 1 && i < mebibytes; i += i + 1 < mebibytes ? 1 : mebibytes)
    verify(memory + i * (long)kMiB, kMiB, key_of(0, 1, 5), 0);
  // The last word, far beyond 2 GiB.
  int64_t value = 4711, back = 0;
  MPI_Win_fence(0, win);
  doing("put at %ld", (long)bytes - 8);
  if (me == 0) MPI_Put(&value, 1, MPI_INT64_T, 1, bytes - 8, 1, MPI_INT64_T, win);
  MPI_Win_fence(0, win);
  if (me == 0) MPI_Get(&back, 1, MPI_INT64_T, 1, bytes - 8, 1, MPI_INT64_T, win);
  MPI_Win_fence(0, win);
  require(me != 0 || back == value, "the last word is %lld", (long long)back);
  MPI_Type_free(&repeated);
  MPI_Type_free(&mebibyte);
  MPI_Win_free(&win);
  free(block);
  return check_end();
}
