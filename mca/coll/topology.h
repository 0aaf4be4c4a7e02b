/* Topology: the neighbours of this rank in the process topology of a communicator, in MPI's order.
 *
 *   struct lfc_coll_topology topology;
 *   if (!lfc_coll_topology_open(&topology, comm)) return OMPI_ERR_OUT_OF_RESOURCE;
 *   lfc_coll_topology_close(&topology);
 *
 * Open MPI has the graph of MPI_Dist_graph_create only after it has chosen the collectives of the communicator, so
 * the first call opens the topology. Threads: values.
 */
#ifndef LFC_COLL_TOPOLOGY_H
#define LFC_COLL_TOPOLOGY_H

#include "coll_lfc.h"

/* Finds the neighbours. False: no memory, or the communicator has no topology. */
bool lfc_coll_topology_open(struct lfc_coll_topology* topology, ompi_communicator_t* comm);
void lfc_coll_topology_close(struct lfc_coll_topology* topology);

#endif
