/* MPI's calls in terms of the engine's: buffers become bytes, types become numbers. */
#include <stdlib.h>
#include <string.h>

#include "coll_lfc.h"
#include "mpi_types.h"
#include "request.h"

bool lfc_coll_describe_reduction(const ompi_op_t* op, const ompi_datatype_t* type, int count,
                                 struct lfc_coll_call* call) {
  call->op = lfc_op_of(op);
  call->type = lfc_element_of(type);
  call->bytes = (size_t)count * type->super.size;
  return lfc_coll_combines(call->op, call->type);
}

/* Open MPI agrees on the numbers of new communicators from inside its progress: by nonblocking allreduces of an int on
 * the old one, or for inter-communicators by reduces to a leader and broadcasts. They are not in the order of the
 * program's own calls, on which LFC relies. So the component below gets all calls that look like them. Ranks compare
 * their common facts: a broadcast may have another type at each rank, but not other bytes. */
static bool may_be_number(const struct lfc_coll_call* call) { return call->bytes == sizeof(int); }
static bool may_combine_numbers(const struct lfc_coll_call* call) {
  return may_be_number(call) && call->type == LFC_ELEMENT_I32 &&
         (call->op == LFC_OP_MAX || call->op == LFC_OP_MIN);
}

/* --- Broadcast: any type, as bytes --- */

static int call_bcast(void* buffer, int count, ompi_datatype_t* type, int root,
                      ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
  if (call.bytes == 0) return OMPI_SUCCESS;
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_buffer plain;
  /* A root that cannot pack its elements takes part all the same, so that the others need not wait. The call then fails
   * at all ranks. */
  const bool opened = lfc_coll_buffer_open(&plain, buffer, (size_t)count, type, is_root);
  if (plain.bytes == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.mismatch = !opened;
  call.in = call.out = plain.bytes;
  const int status = lfc_coll_run_call(module, &call);
  const bool closed = lfc_coll_buffer_close(&plain, !is_root && status == OMPI_SUCCESS);
  return opened && closed ? status : OMPI_ERROR;
}

static int call_ibcast(void* buffer, int count, ompi_datatype_t* type, int root,
                       ompi_communicator_t* comm, ompi_request_t** request,
                       mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
  if (may_be_number(&call)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, ibcast);
    return below->coll_ibcast(buffer, count, type, root, comm, request, below);
  }
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  if (!lfc_coll_buffer_open(&made->operands.out, buffer, (size_t)count, type, is_root)) {
    OBJ_RELEASE(made);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  made->operands.gets = !is_root;
  call.in = call.out = made->operands.out.bytes;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

/* --- Barrier --- */

static int call_barrier(ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  (void)comm;
  return lfc_coll_run_call(module, &call);
}

static int call_ibarrier(ompi_communicator_t* comm, ompi_request_t** request,
                         mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

/* --- Reductions --- */

/* Blocking reduces among nodes of more than kLarge bytes are left to the component below, which sends them from rank
 * to rank: engines would have to store them. In pieces of kPiece bytes, because it allocates memory for a whole
 * piece. */
enum { kLarge = 1 << 20, kPiece = 1 << 22 };

static int reduce_large(const char* in, char* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                        int root, ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, reduce);
  const size_t size = type->super.size;
  const int most = (int)(kPiece / size);
  int status = OMPI_SUCCESS;
  for (int done = 0; status == OMPI_SUCCESS && done < count;) {
    const int piece = count - done < most ? count - done : most;
    const size_t at = (size_t)done * size;
    status = below->coll_reduce(in == MPI_IN_PLACE ? in : in + at, out == NULL ? NULL : out + at,
                                piece, type, op, root, comm, below);
    done += piece;
  }
  return status;
}

static int call_reduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       int root, ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!lfc_coll_describe_reduction(op, type, count, &call)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, reduce);
    return below->coll_reduce(in, out, count, type, op, root, comm, below);
  }
  if (call.bytes > kLarge && lfc_coll_nodes(lfc_coll_own(module)->communicator) > 1)
    return reduce_large(in, out, count, type, op, root, comm, module);
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_run_call(module, &call);
}

static int call_ireduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                        int root, ompi_communicator_t* comm, ompi_request_t** request,
                        mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!lfc_coll_describe_reduction(op, type, count, &call) || may_combine_numbers(&call)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, ireduce);
    return below->coll_ireduce(in, out, count, type, op, root, comm, request, below);
  }
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

static int call_allreduce(const void* in, void* out, int count, ompi_datatype_t* type,
                          ompi_op_t* op, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE, .out = out};
  if (!lfc_coll_describe_reduction(op, type, count, &call)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, allreduce);
    return below->coll_allreduce(in, out, count, type, op, comm, below);
  }
  if (call.bytes == 0) return OMPI_SUCCESS;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_run_call(module, &call);
}

static int call_iallreduce(const void* in, void* out, int count, ompi_datatype_t* type,
                           ompi_op_t* op, ompi_communicator_t* comm, ompi_request_t** request,
                           mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE, .out = out};
  if (count == 0 || !lfc_coll_describe_reduction(op, type, count, &call) ||
      may_combine_numbers(&call)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, iallreduce);
    return below->coll_iallreduce(in, out, count, type, op, comm, request, below);
  }
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

void lfc_coll_offer_collectives(lfc_coll_module* module) {
  module->super.coll_bcast = call_bcast;
  module->super.coll_barrier = call_barrier;
  module->super.coll_reduce = call_reduce;
  module->super.coll_allreduce = call_allreduce;
  module->super.coll_ibcast = call_ibcast;
  module->super.coll_ibarrier = call_ibarrier;
  module->super.coll_ireduce = call_ireduce;
  module->super.coll_iallreduce = call_iallreduce;
}
