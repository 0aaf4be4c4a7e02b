/* Allgathers, alltoalls and reduce-scatters of few bytes among several nodes, and reduce-scatters on one. Larger ones
 * go to the component below, which sends each byte from rank to rank once, without a stop at the node leaders. */
#include "coll_lfc.h"
#include "opening.h"

static bool serves(mca_coll_base_module_t* module, enum lfc_coll_kind kind, int count,
                   const ompi_datatype_t* type) {
  return lfc_coll_exchanges(lfc_coll_own(module)->communicator, kind,
                            (size_t)count * type->super.size);
}

static int largest(const int* counts, ompi_communicator_t* comm) {
  int most = 0;
  for (int rank = 0; rank < ompi_comm_size(comm); ++rank)
    if (counts[rank] > most) most = counts[rank];
  return most;
}

static int call_allgather(const void* in, int count, ompi_datatype_t* type, void* out,
                          int out_count, ompi_datatype_t* out_type, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module) {
  if (!serves(module, LFC_COLL_ALLGATHER, out_count, out_type)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, allgather);
    return below->coll_allgather(in, count, type, out, out_count, out_type, comm, below);
  }
  return lfc_coll_allgather(in, count, type, out, out_count, out_type, comm, module);
}

static int call_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                           const int* counts, const int* displacements, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  if (!serves(module, LFC_COLL_ALLGATHER, largest(counts, comm), out_type)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, allgatherv);
    return below->coll_allgatherv(in, count, type, out, counts, displacements, out_type, comm,
                                  below);
  }
  return lfc_coll_allgatherv(in, count, type, out, counts, displacements, out_type, comm, module);
}

static int call_alltoall(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                         ompi_datatype_t* out_type, ompi_communicator_t* comm,
                         mca_coll_base_module_t* module) {
  if (!serves(module, LFC_COLL_ALLTOALL, out_count, out_type)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, alltoall);
    return below->coll_alltoall(in, count, type, out, out_count, out_type, comm, below);
  }
  return lfc_coll_alltoall(in, count, type, out, out_count, out_type, comm, module);
}

static int call_reduce_scatter_block(const void* in, void* out, int count, ompi_datatype_t* type,
                                     ompi_op_t* op, ompi_communicator_t* comm,
                                     mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE_SCATTER, .out = out};
  if (!lfc_coll_describe_reduction(op, type, count, &call) ||
      !serves(module, LFC_COLL_REDUCE_SCATTER, count, type)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, reduce_scatter_block);
    return below->coll_reduce_scatter_block(in, out, count, type, op, comm, below);
  }
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_run_call(module, &call);
}

void lfc_coll_offer_exchanges(lfc_coll_module* module) {
  module->super.coll_reduce_scatter_block = call_reduce_scatter_block;
  if (lfc_coll_nodes(module->communicator) == 1) return;
  module->super.coll_allgather = call_allgather;
  module->super.coll_allgatherv = call_allgatherv;
  module->super.coll_alltoall = call_alltoall;
}
