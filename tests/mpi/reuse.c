// Memory that is sent from and received into again, and memory that was given back to the system
// and got again at the same address with other pages behind it: a registration that outlives the
// pages would send, or overwrite, what is no longer there.
//
// Each even rank sends to the next one. Options: --again N (messages from the same memory), --anew N
// (messages each from new memory at the same address), --kibibytes N.
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
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
  const int peer = me ^ 1;
  if (peer < ranks) {
    uint64_t number = 0;
    unsigned char* memory = map(NULL, size);
    for (long i = 0; i < again; ++i) pass_on(memory, size, peer, number++);
    for (long i = 0; i < anew; ++i) {
      require(munmap(memory, size) == 0, "munmap failed");
      (void)map(memory, size);
      pass_on(memory, size, peer, number++);
    }
    munmap(memory, size);
  }
  return check_end();
}
