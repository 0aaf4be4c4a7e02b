// Bursts: rank 0 issues many small one-sided operations to rank 1 and flushes once. The target's memory is small, so
// that the peak of the origin's memory is that of the operations which the MPI keeps.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static char *operands, *exposed;  // kBurstWindow bytes each

typedef struct Burst {
  int sums;     // MPI_Accumulate of 64-bit integers; else MPI_Put
  size_t step;  // from one place to the next, in sizes
} Burst;

int begin_burst(Point* p) {
  operands = calloc(1, kBurstWindow);
  exposed = calloc(1, kBurstWindow);
  if (!operands || !exposed) MPI_Abort(MPI_COMM_WORLD, 1);
  return begin_window_of(p, exposed, kBurstWindow);
}

void end_burst(Point* p) {
  end_window(p);
  free(exposed);
  free(operands);
}

// Operation i goes from a place of `operands` to the same place of the window. After the last place follows the first.
static void issue(Point* p, const Burst* burst) {
  const int bytes = (int)p->size, numbers = (int)(p->size / sizeof(int64_t));
  const size_t stride = burst->step * p->size;
  size_t at = 0;
  for (int i = 0; i < p->depth; i++) {
    if (burst->sums)
      MPI_Accumulate(operands + at, numbers, MPI_INT64_T, 1, (MPI_Aint)at, numbers, MPI_INT64_T,
                     MPI_SUM, p->window);
    else
      MPI_Put(operands + at, bytes, MPI_BYTE, 1, (MPI_Aint)at, bytes, MPI_BYTE, p->window);
    at += stride;
    if (at + p->size > kBurstWindow) at = 0;
  }
  MPI_Win_flush(1, p->window);
}

static void wrong(size_t at) {
  fprintf(stderr, "mpi_bench: WRONG CONTENTS in %s, at byte %zu of the window\n", where, at);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// Checks a copy of the window, which was 0 before the burst. `sent` is a copy of the operands from before the burst.
static void inspect(const Point* p, const Burst* burst, const char* sent, const char* copy) {
  const size_t stride = burst->step * p->size, places = (kBurstWindow - p->size) / stride + 1;
  for (size_t place = 0; place < places; place++) {
    const size_t at = place * stride, depth = (size_t)p->depth;
    const int64_t visits = (int64_t)(depth / places + (place < depth % places));
    for (size_t byte = at; !burst->sums && byte < at + p->size; byte++)
      if (copy[byte] != (visits ? sent[byte] : 0)) wrong(byte);
    for (size_t word = at; burst->sums && word < at + p->size; word += sizeof(int64_t)) {
      int64_t operand, sum;
      memcpy(&operand, sent + word, sizeof operand);
      memcpy(&sum, copy + word, sizeof sum);
      if (sum != visits * operand) wrong(word);
    }
  }
}

static void verified_burst(Point* p, const Burst* burst, long seed) {
  char* const copy = calloc(2, kBurstWindow);
  char* const sent = copy + kBurstWindow;
  if (!copy) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Put(copy, kBurstWindow, MPI_BYTE, 1, 0, kBurstWindow, MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
  if (burst->sums)
    for (size_t i = 0; i < kBurstWindow / sizeof(int64_t); i++)
      ((int64_t*)(void*)operands)[i] = (int64_t)i + seed + 1;
  else
    fill(operands, kBurstWindow, seed);
  memcpy(sent, operands, kBurstWindow);
  issue(p, burst);
  MPI_Get(copy, kBurstWindow, MPI_BYTE, 1, 0, kBurstWindow, MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
  inspect(p, burst, sent, copy);
  free(copy);
}

static double run_burst(Point* p, long units, Burst burst) {
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify)
      verified_burst(p, &burst, i);
    else
      issue(p, &burst);
  }
  return finish_one_sided(start);
}

double run_put_burst(Point* p, long units) { return run_burst(p, units, (Burst){0, 1}); }
double run_put_burst_apart(Point* p, long units) { return run_burst(p, units, (Burst){0, 2}); }
double run_sum_burst(Point* p, long units) { return run_burst(p, units, (Burst){1, 1}); }
