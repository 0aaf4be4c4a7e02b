/* Persistent broadcasts, barriers and reductions: the call is translated once, and each MPI_Start performs it. (Those
 * of gathers, scatters and alltoalls are in gathers.c and rows.c.) */
#include "coll_lfc.h"
#include "opening.h"

static int bcast_init(void* buffer, int count, ompi_datatype_t* type, int root,
                      ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                      mca_coll_base_module_t* module) {
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_opening it;
  it.module = module;
  lfc_coll_open_nothing(&it, LFC_COLL_BCAST, root);
  it.call.bytes = (size_t)count * type->super.size;
  lfc_coll_buffer* own = is_root ? &it.operands.in : &it.operands.out;
  it.operands.gets = !is_root;
  const bool opened = lfc_coll_buffer_open(own, buffer, (size_t)count, type, is_root);
  const int status = lfc_coll_keep_opened(&it, opened, comm, request);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, bcast_init);
  return below->coll_bcast_init(buffer, count, type, root, comm, info, request, below);
}

static int barrier_init(ompi_communicator_t* comm, struct ompi_info_t* info,
                        ompi_request_t** request, mca_coll_base_module_t* module) {
  lfc_coll_opening it;
  it.module = module;
  lfc_coll_open_nothing(&it, LFC_COLL_ALLREDUCE, 0);
  const int status = lfc_coll_keep_opened(&it, true, comm, request);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, barrier_init);
  return below->coll_barrier_init(comm, info, request, below);
}

/* Reductions work on the buffers of the program, so there is nothing to open. */
static int keep_reduction(struct lfc_coll_call* call, const void* in, void* out,
                          ompi_communicator_t* comm, mca_coll_base_module_t* module,
                          ompi_request_t** request) {
  call->out = out;
  call->in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_request_keep(lfc_coll_request_new(), comm, module, call, request);
}

static int reduce_init(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       int root, ompi_communicator_t* comm, struct ompi_info_t* info,
                       ompi_request_t** request, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root};
  int status = OMPI_ERR_NOT_SUPPORTED;
  if (lfc_coll_describe_reduction(op, type, count, &call))
    status = keep_reduction(&call, in, out, comm, module, request);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, reduce_init);
  return below->coll_reduce_init(in, out, count, type, op, root, comm, info, request, below);
}

static int allreduce_init(const void* in, void* out, int count, ompi_datatype_t* type,
                          ompi_op_t* op, ompi_communicator_t* comm, struct ompi_info_t* info,
                          ompi_request_t** request, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  int status = OMPI_ERR_NOT_SUPPORTED;
  if (count != 0 && lfc_coll_describe_reduction(op, type, count, &call))
    status = keep_reduction(&call, in, out, comm, module, request);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, allreduce_init);
  return below->coll_allreduce_init(in, out, count, type, op, comm, info, request, below);
}

void lfc_coll_offer_persistent(lfc_coll_module* module) {
  if (LFC_COLL_BELOW_OF(&module->super, reduce_init) == NULL ||
      LFC_COLL_BELOW_OF(&module->super, allreduce_init) == NULL)
    return;
  module->super.coll_bcast_init = bcast_init;
  module->super.coll_barrier_init = barrier_init;
  module->super.coll_reduce_init = reduce_init;
  module->super.coll_allreduce_init = allreduce_init;
}
