#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static unsigned char pattern(long seed, size_t i) {
  return (unsigned char)((size_t)seed * 37 + i * 7 + (i >> 8) + 1);
}

void fill(char* data, size_t size, long seed) {
  for (size_t i = 0; i < size; i++) data[i] = (char)pattern(seed, i);
}

void check(const char* data, size_t size, long seed) {
  for (size_t i = 0; i < size; i++) {
    if ((unsigned char)data[i] == pattern(seed, i)) continue;
    fprintf(stderr,
            "mpi_bench: WRONG CONTENTS in %s, rank %d, byte %zu of message %ld: %u, not %u\n",
            where, rank, i, seed, (unsigned char)data[i], pattern(seed, i));
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

void sort(double* values, int count) { qsort(values, (size_t)count, sizeof values[0], ascending); }
