/* The component `coll lfc`: MPI's collectives on trees that the engine forwards.
 *
 * component.c    life of the component: parameters, open, start, close
 * module.c       one communicator: whether LFC serves it, what it falls back to
 * collectives.c  the blocking and nonblocking calls, translated
 * gathers.c      likewise gathers and scatters; rows.c: alltoall, gathers and scatters of unequal blocks
 * exchanges.c    small allgathers and alltoalls among nodes, reduce-scatters
 * neighbours.c   likewise among the neighbours of a process topology, which topology.c finds
 * persistent.c   persistent broadcasts, barriers and reductions
 * opening.c      a call made ready
 * request.c      a nonblocking call as MPI's request; buffer.c: the bytes of an MPI buffer
 * tailored.c     persistent point-to-point requests without matching; tailored_requests.c: the requests themselves
 * recorder.c     which messages the program sends, written down for perf/tailor
 *
 * What a call does is decided from facts that are the same at all ranks: the number of bytes, the
 * operation and the type of a reduction. Layouts of buffers are each rank's own business.
 */
#ifndef LFC_COLL_LFC_H
#define LFC_COLL_LFC_H

#include "communicator_key.h"
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

/* What the component below offers, for calls that LFC does not take. */
struct lfc_coll_below {
  mca_coll_base_module_reduce_fn_t reduce;
  mca_coll_base_module_t* reduce_module;
  mca_coll_base_module_allreduce_fn_t allreduce;
  mca_coll_base_module_t* allreduce_module;
  mca_coll_base_module_ireduce_fn_t ireduce;
  mca_coll_base_module_t* ireduce_module;
  mca_coll_base_module_iallreduce_fn_t iallreduce;
  mca_coll_base_module_t* iallreduce_module;
  mca_coll_base_module_reduce_init_fn_t reduce_init;
  mca_coll_base_module_t* reduce_init_module;
  mca_coll_base_module_allreduce_init_fn_t allreduce_init;
  mca_coll_base_module_t* allreduce_init_module;
  mca_coll_base_module_allgather_fn_t allgather;
  mca_coll_base_module_t* allgather_module;
  mca_coll_base_module_allgatherv_fn_t allgatherv;
  mca_coll_base_module_t* allgatherv_module;
  mca_coll_base_module_alltoall_fn_t alltoall;
  mca_coll_base_module_t* alltoall_module;
  mca_coll_base_module_reduce_scatter_block_fn_t reduce_scatter_block;
  mca_coll_base_module_t* reduce_scatter_block_module;
};

typedef struct lfc_coll_module {
  mca_coll_base_module_t super;
  lfc_coll_communicator* communicator;
  bool is_world;
  struct lfc_coll_below below;
  struct lfc_coll_topology topology;
  struct lfc_coll_neighbours* neighbours; /* NULL: nobody has asked for the topology yet */
} lfc_coll_module;
OBJ_CLASS_DECLARATION(lfc_coll_module);

mca_coll_base_module_t* lfc_coll_query(ompi_communicator_t* comm, int* priority);
/* One more group of a communicator that is served, for calls that keep no order with its other ones. All its ranks make
 * them in the same order. NULL: no memory. */
lfc_coll_communicator* lfc_coll_join_again(ompi_communicator_t* comm);

int lfc_coll_bcast(void* buffer, int count, ompi_datatype_t* type, int root,
                   ompi_communicator_t* comm, mca_coll_base_module_t* module);
int lfc_coll_barrier(ompi_communicator_t* comm, mca_coll_base_module_t* module);
int lfc_coll_reduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                    int root, ompi_communicator_t* comm, mca_coll_base_module_t* module);
int lfc_coll_allreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       ompi_communicator_t* comm, mca_coll_base_module_t* module);
int lfc_coll_ibcast(void* buffer, int count, ompi_datatype_t* type, int root,
                    ompi_communicator_t* comm, ompi_request_t** request,
                    mca_coll_base_module_t* module);
int lfc_coll_ibarrier(ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* module);
int lfc_coll_ireduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                     int root, ompi_communicator_t* comm, ompi_request_t** request,
                     mca_coll_base_module_t* module);
int lfc_coll_iallreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                        ompi_communicator_t* comm, ompi_request_t** request,
                        mca_coll_base_module_t* module);

/* Fills in operation and type of a reduction; false: not one of ours. */
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
/* Small ones among nodes, and reduce-scatters. */
void lfc_coll_offer_exchanges(mca_coll_base_module_t* module);
/* Where the component below has persistent reductions, too. */
void lfc_coll_offer_persistent(mca_coll_base_module_t* module);
/* What is served only where all ranks share a node. */
void lfc_coll_offer_gathers(mca_coll_base_module_t* module);
/* And may read each other's memory. */
void lfc_coll_offer_rows(mca_coll_base_module_t* module);
/* Likewise. */
void lfc_coll_offer_neighbours(mca_coll_base_module_t* module);

#endif
