// Persistent collectives: MPI_..._init once, then MPI_Start and MPI_Wait as often as the benchmark of the blocking call
// makes the call, on the same bytes. As there, the root of a broadcast moves on with each start, so each root has a
// request.
#include <mpi.h>

#include "bench.h"

#if MPI_VERSION >= 4
#define INIT(call) MPI_##call##_init
#define HAVE_PERSISTENT 1
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(call) MPIX_##call##_init
#define HAVE_PERSISTENT 1
#endif
#endif

static void start_and_wait(MPI_Request* request) {
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

double run_bcast_started(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    if (p->verify && rank == root) fill(p->out, p->size, i);
    start_and_wait(&p->requests[root]);
    if (p->verify) check(p->out, p->size, i);
  }
  return MPI_Wtime() - start;
}

double run_allreduce_started(Point* p, long units) {
  const int count = (int)(p->size / sizeof(double));
  double* out = (double*)(void*)p->out;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (p->verify) out[0] = out[count - 1] = (double)(i + rank);
    start_and_wait(&p->requests[0]);
    const double sum = (double)i * ranks + ranks * (ranks - 1) / 2.0;
    if (p->verify) check_sum((double*)(void*)p->in, count, sum);
  }
  return MPI_Wtime() - start;
}

double run_allgather_started(Point* p, long units) {
  const size_t each = p->size / (size_t)ranks;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (p->verify) fill(p->out, each, i + rank);
    start_and_wait(&p->requests[0]);
    for (int from = 0; p->verify && from < ranks; from++)
      check(p->in + (size_t)from * each, each, i + from);
  }
  return MPI_Wtime() - start;
}

double run_alltoall_started(Point* p, long units) {
  const size_t each = p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int to = 0; p->verify && to < ranks; to++)
      fill(p->out + (size_t)to * each, each, i + rank * ranks + to);
    start_and_wait(&p->requests[0]);
    for (int from = 0; p->verify && from < ranks; from++)
      check(p->in + (size_t)from * each, each, i + from * ranks + rank);
  }
  return MPI_Wtime() - start;
}

double run_barrier_started(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) start_and_wait(&p->requests[0]);
  return MPI_Wtime() - start;
}

#ifdef HAVE_PERSISTENT

// Makes requests in p->requests, for each root in turn; all ranks make them in the same order.
int begin_bcast_started(Point* p) {
  for (int root = 0; root < ranks; root++) INIT(Bcast)
  (p->out, (int)p->size, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &p->requests[root]);
  return 1;
}

int begin_allreduce_started(Point* p) {
  const int count = (int)(p->size / sizeof(double));
  INIT(Allreduce)
  (p->out, p->in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &p->requests[0]);
  return 1;
}

int begin_allgather_started(Point* p) {
  const int each = (int)(p->size / (size_t)ranks);
  INIT(Allgather)
  (p->out, each, MPI_BYTE, p->in, each, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &p->requests[0]);
  return 1;
}

int begin_alltoall_started(Point* p) {
  const int each = (int)p->size;
  INIT(Alltoall)
  (p->out, each, MPI_BYTE, p->in, each, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &p->requests[0]);
  return 1;
}

int begin_barrier_started(Point* p) {
  INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &p->requests[0]);
  return 1;
}

#else

int begin_bcast_started(Point* p) {
  (void)p;
  return 0;
}
int begin_allreduce_started(Point* p) { return begin_bcast_started(p); }
int begin_allgather_started(Point* p) { return begin_bcast_started(p); }
int begin_alltoall_started(Point* p) { return begin_bcast_started(p); }
int begin_barrier_started(Point* p) { return begin_bcast_started(p); }

#endif

void end_started(Point* p) { MPI_Request_free(&p->requests[0]); }

void end_bcast_started(Point* p) {
  for (int root = 0; root < ranks; root++) MPI_Request_free(&p->requests[root]);
}
