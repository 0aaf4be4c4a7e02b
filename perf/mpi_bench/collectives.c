// Collectives. The root of a broadcast moves on with each one. The next root must have received the
// last broadcast, so no rank can run ahead.
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

double run_allgather(Point* p, long units) {
  const size_t each = p->size / (size_t)ranks;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (p->verify) fill(p->out, each, i + rank);
    MPI_Allgather(p->out, (int)each, MPI_BYTE, p->in, (int)each, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; p->verify && from < ranks; from++)
      check(p->in + (size_t)from * each, each, i + from);
  }
  return MPI_Wtime() - start;
}

double run_alltoall(Point* p, long units) {
  const size_t each = p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int to = 0; p->verify && to < ranks; to++)
      fill(p->out + (size_t)to * each, each, i + rank * ranks + to);
    MPI_Alltoall(p->out, (int)each, MPI_BYTE, p->in, (int)each, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; p->verify && from < ranks; from++)
      check(p->in + (size_t)from * each, each, i + from * ranks + rank);
  }
  return MPI_Wtime() - start;
}

double run_alltoallv(Point* p, long units) {
  int counts[1024], places[1024];
  const int known = ranks < 1024 ? ranks : 1024;
  for (int to = 0; to < known; to++) counts[to] = (int)p->size, places[to] = to * (int)p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units && known == ranks; i++) {
    for (int to = 0; p->verify && to < ranks; to++)
      fill(p->out + places[to], p->size, i + rank * ranks + to);
    MPI_Alltoallv(p->out, counts, places, MPI_BYTE, p->in, counts, places, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int from = 0; p->verify && from < ranks; from++)
      check(p->in + places[from], p->size, i + from * ranks + rank);
  }
  return MPI_Wtime() - start;
}

double run_gather(Point* p, long units) {
  const size_t each = p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    if (p->verify) fill(p->out, each, i + rank);
    MPI_Gather(p->out, (int)each, MPI_BYTE, p->in, (int)each, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int from = 0; p->verify && rank == root && from < ranks; from++)
      check(p->in + (size_t)from * each, each, i + from);
  }
  return MPI_Wtime() - start;
}

double run_scatter(Point* p, long units) {
  const size_t each = p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    for (int to = 0; p->verify && rank == root && to < ranks; to++)
      fill(p->out + (size_t)to * each, each, i + to);
    MPI_Scatter(p->out, (int)each, MPI_BYTE, p->in, (int)each, MPI_BYTE, root, MPI_COMM_WORLD);
    if (p->verify) check(p->in, each, i + rank);
  }
  return MPI_Wtime() - start;
}

// Reduces doubles; each rank gets p->size bytes.
double run_reduce_scatter(Point* p, long units) {
  const int count = (int)(p->size / sizeof(double));
  double* out = (double*)(void*)p->out;
  double* in = (double*)(void*)p->in;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int to = 0; p->verify && to < ranks; to++)
      out[to * count] = out[(to + 1) * count - 1] = (double)(i + rank + to);
    MPI_Reduce_scatter_block(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double sum = (double)(i + rank) * ranks + ranks * (ranks - 1) / 2.0;
    if (p->verify) check_sum(in, count, sum);
  }
  return MPI_Wtime() - start;
}

double run_barrier(Point* p, long units) {
  (void)p;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}
