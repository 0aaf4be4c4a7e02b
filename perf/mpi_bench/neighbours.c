// MPI_Neighbor_alltoall of a stencil in a periodic grid of three dimensions.
#include "bench.h"

enum { kDims = 3, kNeighbours = 2 * kDims };
static MPI_Comm grid;

int begin_neighbor(Point* p) {
  (void)p;
  int dims[kDims] = {0};
  const int periods[kDims] = {1, 1, 1};
  MPI_Dims_create(ranks, kDims, dims);
  MPI_Cart_create(MPI_COMM_WORLD, kDims, dims, periods, 0, &grid);
  return 1;
}

double run_neighbor(Point* p, long units) {
  const int each = (int)p->size;
  int peers[kNeighbours];
  for (int dim = 0; dim < kDims; dim++)
    MPI_Cart_shift(grid, dim, 1, &peers[2 * dim], &peers[2 * dim + 1]);
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int to = 0; p->verify && to < kNeighbours; to++)
      fill(p->out + (size_t)to * p->size, p->size, i + rank * kNeighbours + to);
    MPI_Neighbor_alltoall(p->out, each, MPI_BYTE, p->in, each, MPI_BYTE, grid);
    // The block from the lower neighbour is the one that it sent upwards.
    for (int from = 0; p->verify && from < kNeighbours; from++)
      check(p->in + (size_t)from * p->size, p->size, i + peers[from] * kNeighbours + (from ^ 1));
  }
  return MPI_Wtime() - start;
}

void end_neighbor(Point* p) {
  (void)p;
  MPI_Comm_free(&grid);
}
