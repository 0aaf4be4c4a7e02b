// Collectives that move a block of each rank, or combine them, in two forms: the blocking call; and the nonblocking one
// and MPI_Wait. The root moves on with each call. Blocks of the v-forms have equal sizes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

typedef struct Call {
  void (*prepare)(Point*, long number, int root);
  void (*make)(Point*, int root, MPI_Request*);  // the blocking form if the request is null
  void (*inspect)(Point*, long number, int root);
} Call;

static int *counts, *places;  // of the blocks of each rank

static double run_calls(Point* p, long units, const Call* call, int nonblocking) {
  counts = malloc(2 * (size_t)ranks * sizeof(int));
  if (!counts) MPI_Abort(MPI_COMM_WORLD, 1);
  places = counts + ranks;
  for (int i = 0; i < ranks; i++) counts[i] = (int)p->size, places[i] = i * (int)p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const int root = (int)(i % ranks);
    if (p->verify) call->prepare(p, i, root);
    MPI_Request request;
    call->make(p, root, nonblocking ? &request : NULL);
    if (nonblocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (p->verify) call->inspect(p, i, root);
  }
  const double seconds = MPI_Wtime() - start;
  free(counts);
  return seconds;
}

// --- Contents ---

static void prepare_mine(Point* p, long number, int root) {
  (void)root;
  fill(p->out, p->size, number + rank);
}

static void prepare_for_each(Point* p, long number, int root) {
  for (int to = 0; rank == root && to < ranks; to++)
    fill(p->out + (size_t)to * p->size, p->size, number + to);
}

static void prepare_exchange(Point* p, long number, int root) {
  (void)root;
  for (int to = 0; to < ranks; to++)
    fill(p->out + (size_t)to * p->size, p->size, number + rank * ranks + to);
}

static void inspect_mine(Point* p, long number, int root) {
  (void)root;
  check(p->in, p->size, number + rank);
}

static void inspect_gathered(Point* p, long number, int root) {
  for (int from = 0; rank == root && from < ranks; from++)
    check(p->in + (size_t)from * p->size, p->size, number + from);
}

static void inspect_exchange(Point* p, long number, int root) {
  (void)root;
  for (int from = 0; from < ranks; from++)
    check(p->in + (size_t)from * p->size, p->size, number + from * ranks + rank);
}

// --- Gathers, scatters, exchanges ---

static void make_gather(Point* p, int root, MPI_Request* request) {
  const int n = (int)p->size;
  if (request)
    MPI_Igather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD, request);
  else
    MPI_Gather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void make_gatherv(Point* p, int root, MPI_Request* request) {
  const int n = (int)p->size;
  if (request)
    MPI_Igatherv(p->out, n, MPI_BYTE, p->in, counts, places, MPI_BYTE, root, MPI_COMM_WORLD,
                 request);
  else
    MPI_Gatherv(p->out, n, MPI_BYTE, p->in, counts, places, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void make_scatter(Point* p, int root, MPI_Request* request) {
  const int n = (int)p->size;
  if (request)
    MPI_Iscatter(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD, request);
  else
    MPI_Scatter(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void make_scatterv(Point* p, int root, MPI_Request* request) {
  const int n = (int)p->size;
  if (request)
    MPI_Iscatterv(p->out, counts, places, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD,
                  request);
  else
    MPI_Scatterv(p->out, counts, places, MPI_BYTE, p->in, n, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void make_alltoall(Point* p, int root, MPI_Request* request) {
  (void)root;
  const int n = (int)p->size;
  if (request)
    MPI_Ialltoall(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, MPI_COMM_WORLD, request);
  else
    MPI_Alltoall(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void make_alltoallv(Point* p, int root, MPI_Request* request) {
  (void)root;
  if (request)
    MPI_Ialltoallv(p->out, counts, places, MPI_BYTE, p->in, counts, places, MPI_BYTE,
                   MPI_COMM_WORLD, request);
  else
    MPI_Alltoallv(p->out, counts, places, MPI_BYTE, p->in, counts, places, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static const Call gather = {prepare_mine, make_gather, inspect_gathered};
static const Call gatherv = {prepare_mine, make_gatherv, inspect_gathered};
static const Call scatter = {prepare_for_each, make_scatter, inspect_mine};
static const Call scatterv = {prepare_for_each, make_scatterv, inspect_mine};
static const Call alltoall = {prepare_exchange, make_alltoall, inspect_exchange};
static const Call alltoallv = {prepare_exchange, make_alltoallv, inspect_exchange};

double run_gather(Point* p, long units) { return run_calls(p, units, &gather, 0); }
double run_igather(Point* p, long units) { return run_calls(p, units, &gather, 1); }
double run_gatherv(Point* p, long units) { return run_calls(p, units, &gatherv, 0); }
double run_igatherv(Point* p, long units) { return run_calls(p, units, &gatherv, 1); }
double run_scatter(Point* p, long units) { return run_calls(p, units, &scatter, 0); }
double run_iscatter(Point* p, long units) { return run_calls(p, units, &scatter, 1); }
double run_scatterv(Point* p, long units) { return run_calls(p, units, &scatterv, 0); }
double run_iscatterv(Point* p, long units) { return run_calls(p, units, &scatterv, 1); }
double run_alltoall(Point* p, long units) { return run_calls(p, units, &alltoall, 0); }
double run_ialltoall(Point* p, long units) { return run_calls(p, units, &alltoall, 1); }
double run_alltoallv(Point* p, long units) { return run_calls(p, units, &alltoallv, 0); }
double run_ialltoallv(Point* p, long units) { return run_calls(p, units, &alltoallv, 1); }

// The size of an allgather is that of all blocks together.
static void prepare_share(Point* p, long number, int root) {
  (void)root;
  fill(p->out, p->size / (size_t)ranks, number + rank);
}

static void make_allgather(Point* p, int root, MPI_Request* request) {
  (void)root;
  const int n = (int)(p->size / (size_t)ranks);
  if (request)
    MPI_Iallgather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, MPI_COMM_WORLD, request);
  else
    MPI_Allgather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void inspect_shares(Point* p, long number, int root) {
  (void)root;
  const size_t each = p->size / (size_t)ranks;
  for (int from = 0; from < ranks; from++) check(p->in + (size_t)from * each, each, number + from);
}

static const Call allgather = {prepare_share, make_allgather, inspect_shares};
double run_allgather(Point* p, long units) { return run_calls(p, units, &allgather, 0); }
double run_iallgather(Point* p, long units) { return run_calls(p, units, &allgather, 1); }

// --- Sums of doubles ---

void check_sum(const double* in, int count, double sum) {
  if (in[0] == sum && in[count - 1] == sum) return;
  fprintf(stderr, "mpi_bench: WRONG SUM in %s, rank %d: %g, not %g\n", where, rank, in[0], sum);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int doubles(const Point* p) { return (int)(p->size / sizeof(double)); }

static void prepare_numbers(Point* p, long number, int root) {
  (void)root;
  double* const out = (double*)(void*)p->out;
  out[0] = out[doubles(p) - 1] = (double)(number + rank);
}

// Checks the sum of the numbers of ranks 0 to parts - 1.
static void inspect_sum(const Point* p, long number, int parts) {
  check_sum((const double*)(void*)p->in, doubles(p),
            (double)number * parts + parts * (parts - 1) / 2.0);
}

static void inspect_sum_of_all(Point* p, long number, int root) {
  (void)root;
  inspect_sum(p, number, ranks);
}

static void inspect_sum_so_far(Point* p, long number, int root) {
  (void)root;
  inspect_sum(p, number, rank + 1);
}

static void make_allreduce(Point* p, int root, MPI_Request* request) {
  (void)root;
  if (request)
    MPI_Iallreduce(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
  else
    MPI_Allreduce(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void make_scan(Point* p, int root, MPI_Request* request) {
  (void)root;
  if (request)
    MPI_Iscan(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
  else
    MPI_Scan(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// Each rank gets p->size bytes.
static void prepare_numbers_for_each(Point* p, long number, int root) {
  (void)root;
  double* const out = (double*)(void*)p->out;
  const int count = doubles(p);
  for (int to = 0; to < ranks; to++)
    out[to * count] = out[(to + 1) * count - 1] = (double)(number + rank + to);
}

static void make_reduce_scatter(Point* p, int root, MPI_Request* request) {
  (void)root;
  if (request)
    MPI_Ireduce_scatter_block(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                              request);
  else
    MPI_Reduce_scatter_block(p->out, p->in, doubles(p), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void inspect_scattered_sum(Point* p, long number, int root) {
  (void)root;
  inspect_sum(p, number + rank, ranks);
}

static const Call allreduce = {prepare_numbers, make_allreduce, inspect_sum_of_all};
static const Call scan = {prepare_numbers, make_scan, inspect_sum_so_far};
static const Call reduce_scatter = {prepare_numbers_for_each, make_reduce_scatter,
                                    inspect_scattered_sum};

double run_allreduce(Point* p, long units) { return run_calls(p, units, &allreduce, 0); }
double run_iallreduce(Point* p, long units) { return run_calls(p, units, &allreduce, 1); }
double run_scan(Point* p, long units) { return run_calls(p, units, &scan, 0); }
double run_iscan(Point* p, long units) { return run_calls(p, units, &scan, 1); }
double run_reduce_scatter(Point* p, long units) { return run_calls(p, units, &reduce_scatter, 0); }
double run_ireduce_scatter(Point* p, long units) { return run_calls(p, units, &reduce_scatter, 1); }
