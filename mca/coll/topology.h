/* Topology: the neighbours of this rank in the process topology of a communicator, in MPI's order.
 *
 *   struct lfc_coll_topology topology;
 *   if (!lfc_coll_topology_open(&topology, comm)) return OMPI_ERR_OUT_OF_RESOURCE;
 *   lfc_coll_topology_close(&topology);
 *
 * Of a graph made by MPI_Dist_graph_create Open MPI knows it only after it has chosen the collectives of the
 * communicator: so it is asked at the first call. Threads: values.
 */
#ifndef LFC_COLL_TOPOLOGY_H
#define LFC_COLL_TOPOLOGY_H

#include "coll_lfc.h"

/* False: no memory, or the communicator has none. */
bool lfc_coll_topology_open(struct lfc_coll_topology* topology, ompi_communicator_t* comm);
void lfc_coll_topology_close(struct lfc_coll_topology* topology);

#endif
