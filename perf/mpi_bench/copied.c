// The bound of a put with notification on one node: memcpy, and a word that the other process polls.
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

enum { kLine = 4096 };  // the words have pages of their own

static char* mapping;  // the data of ranks 0 and 1, and then their words
static size_t mapped;
static atomic_long* word;  // of this rank
static long seen;

static char* data_of(const Point* p, int of) { return mapping + (size_t)of * p->size; }
static atomic_long* word_of(int of) {
  return (atomic_long*)(void*)(mapping + mapped - (size_t)(2 - of) * kLine);
}

// Returns 0 unless all ranks are on one node.
int begin_copied(Point* p) {
  char name[64];
  snprintf(name, sizeof name, "/mpi_bench.%ld", (long)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  mapped = (2 * p->size + kLine - 1) / kLine * kLine + 2 * kLine;
  int file = -1;
  if (rank == 0) {
    file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0 && ftruncate(file, (off_t)mapped) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) file = shm_open(name, O_RDWR, 0600);
  int here = file >= 0, everywhere = 0;
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere) {
    mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    word = word_of(rank < 2 ? rank : 1);
    seen = 0;
  }
  if (file >= 0) close(file);
  if (rank == 0) shm_unlink(name);
  return everywhere;
}

double run_copied(Point* p, long units) {
  const int peer = 1 - rank;
  const double start = MPI_Wtime();
  for (long turn = 0; rank < 2 && turn < 2 * units; ++turn) {
    if (turn % 2 == rank) {
      if (p->verify) fill(p->out, p->size, turn);
      memcpy(data_of(p, peer), p->out, p->size);
      // Pairs with the acquire below: the bytes are visible.
      atomic_fetch_add_explicit(word_of(peer), 1, memory_order_release);
    } else {
      ++seen;
      while (atomic_load_explicit(word, memory_order_acquire) < seen) continue;
      if (p->verify) check(data_of(p, rank), p->size, turn);
    }
  }
  return rank == 0 ? MPI_Wtime() - start : 0;
}

void end_copied(Point* p) {
  (void)p;
  MPI_Barrier(MPI_COMM_WORLD);
  munmap(mapping, mapped);
}
