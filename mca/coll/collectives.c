/* MPI's calls in terms of the engine's: buffers become bytes, types become numbers. */
#include <stdlib.h>
#include <string.h>

#include "coll_lfc.h"
#include "request.h"

/* --- Types and operations --- */

enum { NO_TYPE = -1, BITS_ONLY = 0x100 };
static short type_table[OMPI_DATATYPE_MAX_PREDEFINED];

static void learn(const ompi_datatype_t* type, bool is_signed, int flags) {
  static const short signed_types[] = {
      [1] = LFC_COLL_INT8, [2] = LFC_COLL_INT16, [4] = LFC_COLL_INT32, [8] = LFC_COLL_INT64};
  static const short unsigned_types[] = {
      [1] = LFC_COLL_UINT8, [2] = LFC_COLL_UINT16, [4] = LFC_COLL_UINT32, [8] = LFC_COLL_UINT64};
  const size_t size = type->super.size;
  if (type->id < 0 || type->id >= OMPI_DATATYPE_MAX_PREDEFINED) return;
  if (size != 1 && size != 2 && size != 4 && size != 8) return;
  type_table[type->id] = (short)((is_signed ? signed_types[size] : unsigned_types[size]) | flags);
}

static void learn_float(const ompi_datatype_t* type) {
  if (type->id < 0 || type->id >= OMPI_DATATYPE_MAX_PREDEFINED) return;
  if (type->super.size == 4) type_table[type->id] = LFC_COLL_FLOAT32;
  if (type->super.size == 8) type_table[type->id] = LFC_COLL_FLOAT64;
}

void lfc_coll_learn_types(void) {
  for (int i = 0; i < OMPI_DATATYPE_MAX_PREDEFINED; ++i) type_table[i] = NO_TYPE;
  const ompi_datatype_t* const signed_types[] = {
      MPI_SIGNED_CHAR, MPI_SHORT,   MPI_INT,     MPI_LONG, MPI_LONG_LONG, MPI_INT8_T,
      MPI_INT16_T,     MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET,    MPI_COUNT};
  const ompi_datatype_t* const unsigned_types[] = {
      MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,     MPI_UNSIGNED,
      MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
      MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
  for (size_t i = 0; i < sizeof signed_types / sizeof *signed_types; ++i)
    learn(signed_types[i], true, 0);
  for (size_t i = 0; i < sizeof unsigned_types / sizeof *unsigned_types; ++i)
    learn(unsigned_types[i], false, 0);
  learn(MPI_BYTE, false, BITS_ONLY);
  learn_float(MPI_FLOAT);
  learn_float(MPI_DOUBLE);
}

static int engine_op(const ompi_op_t* op) {
  switch (op->op_type) {
    case OMPI_OP_MAX: return LFC_COLL_MAX;
    case OMPI_OP_MIN: return LFC_COLL_MIN;
    case OMPI_OP_SUM: return LFC_COLL_SUM;
    case OMPI_OP_PROD: return LFC_COLL_PROD;
    case OMPI_OP_LAND: return LFC_COLL_LAND;
    case OMPI_OP_BAND: return LFC_COLL_BAND;
    case OMPI_OP_LOR: return LFC_COLL_LOR;
    case OMPI_OP_BOR: return LFC_COLL_BOR;
    case OMPI_OP_LXOR: return LFC_COLL_LXOR;
    case OMPI_OP_BXOR: return LFC_COLL_BXOR;
    default: return -1;
  }
}

static bool is_bitwise(int op) {
  return op == LFC_COLL_BAND || op == LFC_COLL_BOR || op == LFC_COLL_BXOR;
}

/* Fills in operation and type of a reduction; false: not one of ours. */
static bool describe_reduction(const ompi_op_t* op, const ompi_datatype_t* type, int count,
                               struct lfc_coll_call* call) {
  if (!ompi_op_is_intrinsic((ompi_op_t*)(uintptr_t)op) || !ompi_datatype_is_predefined(type) ||
      type->id < 0 || type->id >= OMPI_DATATYPE_MAX_PREDEFINED)
    return false;
  const int found_op = engine_op(op);
  const int found_type = type_table[type->id];
  if (found_op < 0 || found_type == NO_TYPE) return false;
  if ((found_type & BITS_ONLY) != 0 && !is_bitwise(found_op)) return false;
  call->op = (enum lfc_coll_op)found_op;
  call->type = (enum lfc_coll_type)(found_type & ~BITS_ONLY);
  call->bytes = (size_t)count * type->super.size;
  return lfc_coll_combines(call->op, call->type);
}

/* --- Broadcast: any type, as bytes --- */

int lfc_coll_bcast(void* buffer, int count, ompi_datatype_t* type, int root,
                   ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
  if (call.bytes == 0) return OMPI_SUCCESS;
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_buffer plain;
  /* The others get what there is, even if it could not be packed. */
  const bool opened = lfc_coll_buffer_open(&plain, buffer, (size_t)count, type, is_root);
  if (plain.bytes == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = call.out = plain.bytes;
  const int status = lfc_coll_run_call(module, &call);
  const bool closed = lfc_coll_buffer_close(&plain, !is_root && status == OMPI_SUCCESS);
  return status == OMPI_SUCCESS && (!opened || !closed) ? OMPI_ERROR : status;
}

int lfc_coll_ibcast(void* buffer, int count, ompi_datatype_t* type, int root,
                    ompi_communicator_t* comm, ompi_request_t** request,
                    mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
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

int lfc_coll_barrier(ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  (void)comm;
  return lfc_coll_run_call(module, &call);
}

int lfc_coll_ibarrier(ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

/* --- Reductions --- */

int lfc_coll_reduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                    int root, ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.reduce(in, out, count, type, op, root, comm, own->below.reduce_module);
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_run_call(module, &call);
}

int lfc_coll_ireduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                     int root, ompi_communicator_t* comm, ompi_request_t** request,
                     mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.ireduce(in, out, count, type, op, root, comm, request,
                              own->below.ireduce_module);
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_request_start(made, comm, module, &call, request);
}

int lfc_coll_allreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.allreduce(in, out, count, type, op, comm, own->below.allreduce_module);
  if (call.bytes == 0) return OMPI_SUCCESS;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_run_call(module, &call);
}

/* Open MPI agrees on the numbers of new communicators by nonblocking allreduces of one or two ints on
 * the old one, from inside its progress, when it likes: not in the order of the program's own calls,
 * on which we rely. The component below has an order of its own for them. */
static bool may_be_internal(int count, const ompi_datatype_t* type) {
  return count <= 2 && type == MPI_INT;
}

int lfc_coll_iallreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                        ompi_communicator_t* comm, ompi_request_t** request,
                        mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE, .out = out};
  if (may_be_internal(count, type) || count == 0 || !describe_reduction(op, type, count, &call))
    return own->below.iallreduce(in, out, count, type, op, comm, request,
                                 own->below.iallreduce_module);
  lfc_coll_request* made = lfc_coll_request_new();
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return lfc_coll_request_start(made, comm, module, &call, request);
}
