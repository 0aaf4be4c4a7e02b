#include "topology.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/mca/topo/base/base.h"
#include "ompi/mca/topo/topo.h"

/* Allocates both lists in one piece. */
static int* room_for(struct lfc_coll_topology* topology, int sources, int destinations) {
  int* ranks = malloc(((size_t)sources + (size_t)destinations + 1) * sizeof *ranks);
  if (ranks == NULL) return NULL;
  topology->sources = sources;
  topology->destinations = destinations;
  topology->from = ranks;
  topology->to = ranks + sources;
  return ranks;
}

/* The neighbours below and above in each dimension. This rank sends to each of them, and receives from each. */
static bool open_grid(struct lfc_coll_topology* topology, ompi_communicator_t* comm) {
  const mca_topo_base_comm_cart_2_2_0_t* grid = comm->c_topo->mtc.cart;
  int* ranks = room_for(topology, 2 * grid->ndims, 2 * grid->ndims);
  if (ranks == NULL) return false;
  for (int dim = 0; dim < grid->ndims; ++dim) {
    int* pair = ranks + 2 * (size_t)dim;
    if (mca_topo_base_cart_shift(comm, dim, 1, &pair[0], &pair[1]) != MPI_SUCCESS) {
      lfc_coll_topology_close(topology);
      return false;
    }
  }
  memcpy(ranks + topology->sources, ranks, (size_t)topology->sources * sizeof *ranks);
  topology->crossed = true;
  return true;
}

static bool open_graph(struct lfc_coll_topology* topology, ompi_communicator_t* comm) {
  const mca_topo_base_comm_graph_2_2_0_t* graph = comm->c_topo->mtc.graph;
  const int own = ompi_comm_rank(comm);
  const int first = own == 0 ? 0 : graph->index[own - 1];
  const int degree = graph->index[own] - first;
  int* ranks = room_for(topology, degree, degree);
  if (ranks == NULL) return false;
  memcpy(ranks, graph->edges + first, (size_t)degree * sizeof *ranks);
  memcpy(ranks + degree, ranks, (size_t)degree * sizeof *ranks);
  return true;
}

static bool open_distributed(struct lfc_coll_topology* topology, ompi_communicator_t* comm) {
  const mca_topo_base_comm_dist_graph_2_2_0_t* graph = comm->c_topo->mtc.dist_graph;
  int* ranks = room_for(topology, graph->indegree, graph->outdegree);
  if (ranks == NULL) return false;
  if (graph->indegree > 0) memcpy(ranks, graph->in, (size_t)graph->indegree * sizeof *ranks);
  if (graph->outdegree > 0)
    memcpy(ranks + graph->indegree, graph->out, (size_t)graph->outdegree * sizeof *ranks);
  return true;
}

bool lfc_coll_topology_open(struct lfc_coll_topology* topology, ompi_communicator_t* comm) {
  *topology = (struct lfc_coll_topology){.from = NULL};
  if (OMPI_COMM_IS_CART(comm)) return open_grid(topology, comm);
  if (OMPI_COMM_IS_GRAPH(comm)) return open_graph(topology, comm);
  return OMPI_COMM_IS_DIST_GRAPH(comm) && open_distributed(topology, comm);
}

void lfc_coll_topology_close(struct lfc_coll_topology* topology) {
  free((void*)(uintptr_t)topology->from);
  *topology = (struct lfc_coll_topology){.from = NULL};
}
