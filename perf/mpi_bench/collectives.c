// Broadcasts and barriers. Unless a benchmark keeps it, the root of a broadcast moves on with each one. The next root must
// have received the last broadcast, so no rank can run ahead.
#include <mpi.h>
#include <string.h>

#include "bench.h"

double run_bcast(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    if (p->verify && rank == root) fill(p->out, p->size, i);
    MPI_Bcast(p->out, (int)p->size, MPI_BYTE, root, MPI_COMM_WORLD);
    if (p->verify) check(p->out, p->size, i);
  }
  return MPI_Wtime() - start;
}

// Rank 0 is always the root. The barrier keeps it from running ahead.
double run_bcast_barrier(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (p->verify && rank == 0) fill(p->out, p->size, i);
    MPI_Bcast(p->out, (int)p->size, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (p->verify) check(p->out, p->size, i);
  }
  return MPI_Wtime() - start;
}

double run_ibcast(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    if (p->verify && rank == root) fill(p->out, p->size, i);
    MPI_Request request;
    MPI_Ibcast(p->out, (int)p->size, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (p->verify) check(p->out, p->size, i);
  }
  return MPI_Wtime() - start;
}

// Rank 0 is always the root and waits for no rank. This measures its time for one broadcast, the gap.
double run_bcast_gap(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (p->verify && rank == 0) fill(p->out, p->size, i);
    MPI_Bcast(p->out, (int)p->size, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (p->verify) check(p->out, p->size, i);
  }
  const double end = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  return end - start;
}

// The ranks arrive at different times: each computes for up to 100 us, drawn for each round and rank.
double run_skewed(Point* p, long units) {
  unsigned state = 12345u + 977u * (unsigned)rank;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    state = state * 1664525u + 1013904223u;
    const double until = MPI_Wtime() + (state >> 8) % 100 * 1e-6;
    while (MPI_Wtime() < until) {
    }
    const int root = (int)(i % ranks);
    if (p->verify && rank == root) fill(p->out, p->size, i);
    MPI_Bcast(p->out, (int)p->size, MPI_BYTE, root, MPI_COMM_WORLD);
    if (p->verify) check(p->out, p->size, i);
  }
  return MPI_Wtime() - start;
}

double run_barrier(Point* p, long units) {
  (void)p;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

double run_ibarrier(Point* p, long units) {
  (void)p;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}
