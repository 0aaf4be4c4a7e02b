// Memory that is sent from and received into again, and memory that was returned to the system. The latter is
// mapped again at the same address, with other pages behind it. A registration that outlives the pages would send
// or overwrite pages that are gone.
//
// Each even rank sends to the next one. Options: --again N (messages from the same memory), --anew N
// (messages each from new memory at the same address), --kibibytes N, --all-ways (memory gets new pages
// by all the calls that Open MPI watches, in turn, and not by munmap() and mmap() alone).
#define _GNU_SOURCE  // mremap()
#include "check.h"

#include <sys/mman.h>

// New pages at `where`, or anywhere if that is NULL.
static unsigned char* map(void* where, size_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where == NULL ? 0 : MAP_FIXED);
  void* memory = mmap(where, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  require(memory != MAP_FAILED && (where == NULL || memory == where), "mmap of %zu bytes failed",
          size);
  return memory;
}

// Puts other pages behind the same addresses.
static void renew(unsigned char* memory, size_t size, long way) {
  switch (way) {
    case 0:
      require(munmap(memory, size) == 0, "munmap failed");
      (void)map(memory, size);
      break;
    case 1:  // the pages are dropped, the mapping stays
      require(madvise(memory, size, MADV_DONTNEED) == 0, "madvise failed");
      break;
    case 2: {  // the pages go elsewhere, and others come
      void* elsewhere = map(NULL, size);
      require(mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) == elsewhere,
              "mremap failed");
      (void)map(memory, size);
      require(munmap(elsewhere, size) == 0, "munmap failed");
      break;
    }
    case 3: (void)map(memory, size); break;  // over the existing mapping
    default: {                               // other pages come from elsewhere
      require(munmap(memory, size) == 0, "munmap failed");
      void* elsewhere = map(NULL, size);
      if (elsewhere == memory) break;
      require(mremap(elsewhere, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory,
              "mremap failed");
      break;
    }
  }
}

static void pass_on(unsigned char* memory, size_t size, int peer, uint64_t number) {
  doing("message %llu with %d", (unsigned long long)number, peer);
  if (me % 2 == 0) {
    fill(memory, size, key_of(me, peer, number));
    MPI_Send(memory, (int)size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(memory, (int)size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify(memory, size, key_of(peer, me, number), peer);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const long again = option(argc, argv, "--again", 20);
  const long anew = option(argc, argv, "--anew", 20);
  const size_t size = (size_t)option(argc, argv, "--kibibytes", 1024) * 1024;
  const bool all_ways = has_option(argc, argv, "--all-ways");
  const int peer = me ^ 1;
  if (peer < ranks) {
    uint64_t number = 0;
    unsigned char* memory = map(NULL, size);
    for (long i = 0; i < again; ++i) pass_on(memory, size, peer, number++);
    for (long i = 0; i < anew; ++i) {
      renew(memory, size, all_ways ? i % 5 : 0);
      pass_on(memory, size, peer, number++);
    }
    munmap(memory, size);
  }
  return check_end();
}
