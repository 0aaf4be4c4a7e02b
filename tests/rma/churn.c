// Windows of all flavours are made, used and freed again and again: descriptors, mappings and memory of the
// process must not grow. And many windows at once, unless --one-at-a-time: between nodes, where ranks do not share
// the memory of a window, the allocator counts it as well.
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
#include "check.h"

#include <malloc.h>
#include <sys/mman.h>

#include "process.h"

enum { kAtOnce = 64, kBytes = 4096 };

// Bytes that the allocator has given out.
static long allocated(void) {
  const struct mallinfo2 info = mallinfo2();
  return (long)(info.uordblks + info.hblkhd);
}

static void use_window(int flavor, int round) {
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  int64_t *memory = NULL, own[kBytes / 8];
  MPI_Win win;
  if (flavor == 0) {
    memory = own;
    MPI_Win_create(memory, kBytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else if (flavor == 1) {
    MPI_Win_allocate(kBytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  } else {
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, own, kBytes);
  }
  if (flavor < 2) {
    const int64_t value = round * 100 + me;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT64_T, right, 3, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    require(memory[3] == round * 100 + left, "window %d: %lld", round, (long long)memory[3]);
  } else {
    MPI_Win_detach(win, own);
  }
  MPI_Win_free(&win);
}

static void many_at_once(void) {
  MPI_Win wins[kAtOnce];
  int64_t* memory[kAtOnce];
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  const long before = allocated();
  for (int i = 0; i < kAtOnce; ++i) {
    doing("window %d of %d", i, kAtOnce);
    MPI_Win_allocate(kBytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]);
    MPI_Win_lock_all(0, wins[i]);
  }
  const long each = (allocated() - before) / kAtOnce;
  // Most of it is the separate communicator that Open MPI makes for a window.
  require(each < 16384 + 1024L * ranks, "a window of %d ranks takes %ld bytes", ranks, each);
  if (me == 0) printf("a window of %d ranks: %ld bytes of state\n", ranks, each);
  int64_t values[kAtOnce];
  for (int i = 0; i < kAtOnce; ++i) {
    values[i] = i * 1000 + me;
    MPI_Put(&values[i], 1, MPI_INT64_T, right, i, 1, MPI_INT64_T, wins[i]);
  }
  for (int i = 0; i < kAtOnce; ++i) MPI_Win_flush(right, wins[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kAtOnce; ++i) {
    MPI_Win_sync(wins[i]);
    require(memory[i][i] == i * 1000 + left, "window %d of %d: %lld", i, kAtOnce,
            (long long)memory[i][i]);
  }
  for (int i = 0; i < kAtOnce; ++i) {
    MPI_Win_unlock_all(wins[i]);
    MPI_Win_free(&wins[i]);
  }
}

// A gigabyte that no rank touches costs neither memory nor state.
static void gigabyte(void) {
  const size_t size = (size_t)1 << 30;
  void* memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  const long bytes = allocated(), pages = resident_pages();
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  const double start = MPI_Wtime();
  MPI_Win_attach(win, memory, (MPI_Aint)size);
  const double seconds = MPI_Wtime() - start;
  const long more = (resident_pages() - pages) * sysconf(_SC_PAGESIZE);
  require(more < 1 << 20, "attaching 1 GiB took %ld bytes", more);
  if (me == 0)
    printf("1 GiB attached in %.1f us: %ld bytes of state, %ld more in memory\n", 1e6 * seconds,
           allocated() - bytes, more);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  munmap(memory, size);
}

int main(int argc, char** argv) {
  refuse_huge_pages();
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int rounds = (int)option(argc, argv, "--rounds", long_run ? 10000 : 400);
  const int warm = rounds / 4;
  long descriptors = 0, mappings = 0, pages = 0;
  for (int i = 0; i < rounds; ++i) {
    doing("round %d", i);
    if (i == warm) {
      descriptors = count_entries("/proc/self/fd");
      mappings = count_lines("/proc/self/maps");
      pages = resident_pages();
    }
    use_window(i % 3, i);
  }
  const long more_pages = resident_pages() - pages;
  const long more_mappings = count_lines("/proc/self/maps") - mappings;
  require(count_entries("/proc/self/fd") == descriptors, "%ld descriptors became %ld", descriptors,
          count_entries("/proc/self/fd"));
  // The allocator may take an arena more; a leak would grow with the rounds.
  require(more_mappings < 20, "%ld mappings more after %d windows", more_mappings, rounds - warm);
  require(more_pages < 64 + (rounds - warm) / 50, "%ld pages more after %d windows", more_pages,
          rounds - warm);
  if (me == 0)
    printf(
        "%d windows made and freed: %ld descriptors, %ld mappings, %ld KiB more than after the "
        "first %d\n",
        rounds, count_entries("/proc/self/fd") - descriptors, more_mappings,
        more_pages * (sysconf(_SC_PAGESIZE) / 1024), warm);
  if (!has_option(argc, argv, "--one-at-a-time")) {
    many_at_once();
    gigabyte();
  }
  require(count_entries("/proc/self/fd") == descriptors, "%ld descriptors became %ld", descriptors,
          count_entries("/proc/self/fd"));
  return check_end();
}
