// Buffers in the memory of the accelerator of accelerator.c, which the processor may not read: messages, and
// collectives in which only some ranks have such a buffer. With --host all buffers are ordinary ones: the control.
#include "check.h"

#include <sys/mman.h>

enum { kBlock = 200000, kMost = 8 };

// Its names are those that accelerator.c looks for.
__attribute__((visibility("default"))) char* device_memory;
__attribute__((visibility("default"))) size_t device_bytes;

static unsigned char *host_out, *host_in;

static void permit(bool access) {
  if (mprotect(device_memory, device_bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    fail("mprotect");
}

// Fills the first half of the device's memory, or of the host's, with `size` bytes; returns it.
static void* given(bool device, size_t size, uint64_t key) {
  unsigned char* const to = device ? (unsigned char*)device_memory : host_out;
  permit(true);
  fill(to, size, key);
  permit(false);
  return to;
}
static void* taken(bool device) {
  return device ? device_memory + device_bytes / 2 : (char*)host_in;
}
static void verify_taken(bool device, size_t offset, size_t size, uint64_t key, int from) {
  permit(true);
  verify((char*)taken(device) + offset, size, key, from);
  permit(false);
}

int main(int argc, char** argv) {
  const int sizes[] = {1, 1000, kBlock};
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks <= kMost, "at most %d ranks", kMost);
  const bool host = has_option(argc, argv, "--host");
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  device_bytes = (2 * (size_t)kMost * kBlock + page - 1) / page * page;
  device_memory = mmap(NULL, device_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(device_memory != MAP_FAILED, "no memory");
  host_out = allocate((size_t)kMost * kBlock);
  host_in = allocate((size_t)kMost * kBlock);

  // First only ranks of an odd number have their buffers on the device, then all ranks.
  for (int round = 0; round < 2; ++round) {
    const bool device = !host && (round == 1 || me % 2 == 1);
    for (int i = 0; i < 3; ++i) {
      const int size = sizes[i], to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
      const uint64_t number = (uint64_t)(10 * round + i);
      doing("%d bytes, round %d", size, round);
      MPI_Sendrecv(given(device, (size_t)size, key_of(me, to, number)), size, MPI_BYTE, to, 0,
                   taken(device), size, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      verify_taken(device, 0, (size_t)size, key_of(from, me, number), from);
      doing("broadcast of %d bytes, round %d", size, round);
      MPI_Bcast(me == 1 ? given(device, (size_t)size, key_of(1, 99, number)) : taken(device), size,
                MPI_BYTE, 1, MPI_COMM_WORLD);
      if (me != 1) verify_taken(device, 0, (size_t)size, key_of(1, 99, number), 1);
      doing("allgather of %d bytes, round %d", size, round);
      MPI_Allgather(given(device, (size_t)size, key_of(me, 98, number)), size, MPI_BYTE,
                    taken(device), size, MPI_BYTE, MPI_COMM_WORLD);
      for (int rank = 0; rank < ranks; ++rank)
        verify_taken(device, (size_t)rank * (size_t)size, (size_t)size, key_of(rank, 98, number),
                     rank);
    }
  }
  // A window of ordinary memory is served, though not by osc neon.
  int* memory = NULL;
  MPI_Win win;
  doing("a window");
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&me, 1, MPI_INT, (me + 1) % ranks, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  require(*memory == (me + ranks - 1) % ranks, "a put: %d", *memory);
  MPI_Win_free(&win);
  return check_end();
}
