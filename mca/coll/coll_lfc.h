/* The component `coll lfc`: MPI's collectives on trees that the engine forwards.
 *
 * component.c    life of the component: parameters, open, start, close
 * module.c       one communicator: the calls that LFC serves, and those of the component below
 * agreement.c    whether all its ranks reach each other, so that LFC serves it
 * collectives.c  blocking and nonblocking broadcasts, barriers and reductions
 * gathers.c      gathers and scatters; rows.c: alltoall, gathers and scatters of unequal blocks
 * exchanges.c    small allgathers and alltoalls among nodes, reduce-scatters
 * neighbours.c   collectives among the neighbours of a process topology, which topology.c finds
 * scans.c        scans
 * persistent_collectives.c  persistent broadcasts, barriers and reductions
 * opening.c      a call made ready; forms.h: its blocking, nonblocking and persistent form
 * request.c      a nonblocking call as MPI's request; buffer.c: the bytes of an MPI buffer
 *
 * A call decides by facts that are the same at all ranks: the number of bytes, the operation and the type of a
 * reduction. Layouts of buffers may differ from rank to rank.
 */
#ifndef LFC_COLL_LFC_H
#define LFC_COLL_LFC_H

#include "communicator_key.h"
#include "handed_over.h"
#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"

typedef struct lfc_coll_component {
  mca_coll_base_component_t super;
  struct lfc_coll_options options;
} lfc_coll_component;
extern lfc_coll_component mca_coll_lfc_component;

/* Calls of which LFC serves only some: it passes the others to the component below. That component need not have the
 * persistent ones. */
#define LFC_COLL_BELOW(each)                                                               \
  each(reduce) each(allreduce) each(ibcast) each(ireduce) each(iallreduce) each(allgather) \
      each(allgatherv) each(alltoall) each(reduce_scatter_block) each(scan) each(exscan)   \
          each(iscan) each(iexscan)
#define LFC_COLL_BELOW_PERSISTENT(each)                                                           \
  each(bcast_init) each(barrier_init) each(reduce_init) each(allreduce_init) each(allgather_init) \
      each(allgatherv_init) each(gather_init) each(scatter_init) each(alltoall_init)              \
          each(alltoallv_init) each(gatherv_init) each(scatterv_init) each(scan_init)             \
              each(exscan_init) each(neighbor_allgather_init) each(neighbor_allgatherv_init)      \
                  each(neighbor_alltoall_init) each(neighbor_alltoallv_init)                      \
                      each(neighbor_alltoallw_init)

typedef struct lfc_coll_module {
  mca_coll_base_module_t super;
  lfc_coll_communicator* communicator; /* NULL: its ranks have agreed that LFC does not serve it */
  const ompi_communicator_t* of;       /* the communicator that has this module */
  struct lfc_coll_topology topology;
  struct lfc_coll_neighbours* neighbours; /* NULL: the topology has not been needed yet */
} lfc_coll_module;
OBJ_CLASS_DECLARATION(lfc_coll_module);

/* The module, which another thread may have made: Open MPI makes communicators inside any thread's progress. */
static inline lfc_coll_module* lfc_coll_own(mca_coll_base_module_t* module) {
  LFC_TAKEN_OVER(module);
  return (lfc_coll_module*)module;
}

/* Returns the module of the component below that has the call; NULL: none has it.
 *
 *   mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, scan);
 *   return below->coll_scan(in, out, count, type, op, comm, below);
 *
 * Open MPI's list of the communicator has the modules, so no copy is kept: most communicators never need it. */
#define LFC_COLL_BELOW_OF(module, call) \
  lfc_coll_find_below(module, offsetof(mca_coll_base_module_t, coll_##call))
mca_coll_base_module_t* lfc_coll_find_below(mca_coll_base_module_t* module, size_t call);
/* Whether the components below have all calls of LFC_COLL_BELOW_PERSISTENT. */
bool lfc_coll_has_persistent_below(mca_coll_base_module_t* module);

mca_coll_base_module_t* lfc_coll_query(ompi_communicator_t* comm, int* priority);
/* Joins one more group of a communicator that LFC serves, for calls in no order with its other ones. All its ranks join
 * such groups in the same order. NULL: no memory. */
lfc_coll_communicator* lfc_coll_join_again(ompi_communicator_t* comm, enum lfc_coll_use use);

/* Sets operation, type and bytes of a reduction. False: LFC does not serve it. */
bool lfc_coll_describe_reduction(const ompi_op_t* op, const ompi_datatype_t* type, int count,
                                 struct lfc_coll_call* call);
int lfc_coll_allgather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                       ompi_datatype_t* out_type, ompi_communicator_t* comm,
                       mca_coll_base_module_t* module);
int lfc_coll_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                        const int* counts, const int* displacements, ompi_datatype_t* out_type,
                        ompi_communicator_t* comm, mca_coll_base_module_t* module);
int lfc_coll_alltoall(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                      ompi_datatype_t* out_type, ompi_communicator_t* comm,
                      mca_coll_base_module_t* module);

/* Each file that serves calls offers them, where it can: lfc_coll_offer_gathers(module), ... */
#define LFC_COLL_OFFERS(each)                                                             \
  each(collectives) each(gathers) each(exchanges) each(scans) each(persistent) each(rows) \
      each(neighbours)
#define LFC_COLL_DECLARE_OFFER(file) void lfc_coll_offer_##file(lfc_coll_module* module);
LFC_COLL_OFFERS(LFC_COLL_DECLARE_OFFER)
#undef LFC_COLL_DECLARE_OFFER
/* Lets all of them do so. */
void lfc_coll_offer(lfc_coll_module* own, const ompi_communicator_t* comm);
/* Prints that LFC serves the communicator, or the reason why not, if coll_lfc_verbose requests it. */
void lfc_coll_explain(const ompi_communicator_t* comm, const char* not_why);
#define LFC_COLL_OUT_OF_REACH "some rank cannot reach another by LFC"

#endif
