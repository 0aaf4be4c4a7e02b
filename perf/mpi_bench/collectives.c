// Collectives. The root of a broadcast moves on with each one, so that nobody can run ahead: the next
// root must have received the last one.
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

double run_barrier(Point* p, long units) {
  (void)p;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}
