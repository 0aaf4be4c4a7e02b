/* MPI's calls in terms of the engine's: buffers become bytes, types become numbers. */
#include <stdlib.h>
#include <string.h>

#include "coll_lfc.h"

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

/* --- Calls --- */

static int mpi_status(enum lfc_coll_status status) {
  switch (status) {
    case LFC_COLL_OK: return OMPI_SUCCESS;
    case LFC_COLL_MISMATCH: return MPI_ERR_TRUNCATE;
    case LFC_COLL_NO_MEMORY: return OMPI_ERR_OUT_OF_RESOURCE;
    default: return OMPI_ERR_UNREACH;
  }
}

static lfc_coll_group* group_of(mca_coll_base_module_t* module) {
  return ((lfc_coll_module*)module)->group;
}

static int run(mca_coll_base_module_t* module, const struct lfc_coll_call* call) {
  return mpi_status(lfc_coll_run(group_of(module), call));
}

/* A call that goes on by itself. MPI's functions keep types and operations alive in the base's fields. */
typedef struct lfc_coll_request {
  ompi_coll_base_nbc_request_t base;
  lfc_coll_operation operation;
  void* staged; /* a derived type's bytes; unpacked at the end unless this is the root */
  void* buffer;
  int count;
  ompi_datatype_t* type;
  bool unpack;
} lfc_coll_request;

static int free_request(ompi_request_t** request) {
  if (!REQUEST_COMPLETE(*request)) return MPI_ERR_REQUEST;
  OMPI_REQUEST_FINI(*request);
  OBJ_RELEASE(*request);
  *request = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t* request, int flag) {
  (void)request;
  (void)flag;
  return MPI_ERR_REQUEST;
}

static void construct_request(lfc_coll_request* request) {
  request->base.super.req_type = OMPI_REQUEST_COLL;
  request->base.super.req_status._cancelled = 0;
  request->base.super.req_free = free_request;
  request->base.super.req_cancel = cancel_request;
  request->staged = NULL;
  request->type = NULL;
}

static OBJ_CLASS_INSTANCE(lfc_coll_request, ompi_coll_base_nbc_request_t, construct_request, NULL);

static bool copy_packed(void* buffer, int count, ompi_datatype_t* type, void* packed, size_t bytes,
                        bool pack) {
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  struct iovec piece = {packed, bytes};
  uint32_t pieces = 1;
  size_t most = bytes;
  int status = 0;
  if (pack) {
    (void)opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                   (size_t)count, buffer, 0, &convertor);
    status = opal_convertor_pack(&convertor, &piece, &pieces, &most);
  } else {
    (void)opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                   (size_t)count, buffer, 0, &convertor);
    status = opal_convertor_unpack(&convertor, &piece, &pieces, &most);
  }
  OBJ_DESTRUCT(&convertor);
  return status >= 0 && most == bytes;
}

static void request_done(lfc_coll_operation* operation, enum lfc_coll_status status) {
  lfc_coll_request* request =
      (lfc_coll_request*)((char*)operation - offsetof(lfc_coll_request, operation));
  ompi_communicator_t* comm = request->base.super.req_mpi_object.comm;
  if (request->staged != NULL) {
    const size_t bytes = (size_t)request->count * request->type->super.size;
    if (request->unpack && status == LFC_COLL_OK)
      (void)copy_packed(request->buffer, request->count, request->type, request->staged, bytes,
                        false);
    free(request->staged);
    request->staged = NULL;
    OBJ_RELEASE(request->type);
  }
  request->base.super.req_status.MPI_ERROR = mpi_status(status);
  ompi_request_complete(&request->base.super, true);
  OBJ_RELEASE(comm);
}

static int start(ompi_communicator_t* comm, mca_coll_base_module_t* module,
                 const struct lfc_coll_call* call, lfc_coll_request* request,
                 ompi_request_t** out) {
  static bool registered = false; /* twice does no harm */
  if (!registered) {
    registered = true;
    opal_progress_register(lfc_coll_progress);
  }
  OMPI_REQUEST_INIT(&request->base.super, false);
  request->base.super.req_state = OMPI_REQUEST_ACTIVE;
  request->base.super.req_mpi_object.comm = comm;
  request->base.super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
  request->base.super.req_status.MPI_TAG = MPI_ANY_TAG;
  request->base.super.req_status.MPI_ERROR = MPI_SUCCESS;
  request->base.super.req_status._ucount = 0;
  OBJ_RETAIN(comm); /* it may be freed before the operation has finished */
  *out = &request->base.super;
  lfc_coll_start(group_of(module), call, &request->operation, request_done);
  return OMPI_SUCCESS;
}

/* --- Broadcast: any type, as bytes --- */

/* Where the bytes are if they lie together; NULL if not. */
static void* plain_bytes(void* buffer, int count, ompi_datatype_t* type) {
  ptrdiff_t gap = 0;
  if (!opal_datatype_is_contiguous_memory_layout(&type->super, count)) return NULL;
  (void)opal_datatype_span(&type->super, count, &gap);
  return (char*)buffer + gap;
}

int lfc_coll_bcast(void* buffer, int count, ompi_datatype_t* type, int root,
                   ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
  if (call.bytes == 0) return OMPI_SUCCESS;
  const bool is_root = ompi_comm_rank(comm) == root;
  void* plain = plain_bytes(buffer, count, type);
  void* packed = plain == NULL ? malloc(call.bytes) : NULL;
  call.in = call.out = plain == NULL ? packed : plain;
  if (call.in == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  int status = OMPI_SUCCESS;
  if (packed != NULL && is_root && !copy_packed(buffer, count, type, packed, call.bytes, true))
    status = OMPI_ERROR; /* the others still get what there is */
  const int ran = run(module, &call);
  if (status == OMPI_SUCCESS) status = ran;
  if (packed != NULL && !is_root && status == OMPI_SUCCESS &&
      !copy_packed(buffer, count, type, packed, call.bytes, false))
    status = OMPI_ERROR;
  free(packed);
  return status;
}

int lfc_coll_ibcast(void* buffer, int count, ompi_datatype_t* type, int root,
                    ompi_communicator_t* comm, ompi_request_t** request,
                    mca_coll_base_module_t* module) {
  struct lfc_coll_call call = {
      .kind = LFC_COLL_BCAST, .root = root, .bytes = (size_t)count * type->super.size};
  lfc_coll_request* made = OBJ_NEW(lfc_coll_request);
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  void* plain = call.bytes == 0 ? buffer : plain_bytes(buffer, count, type);
  if (plain == NULL) {
    const bool is_root = ompi_comm_rank(comm) == root;
    made->staged = malloc(call.bytes);
    if (made->staged == NULL) {
      OBJ_RELEASE(made);
      return OMPI_ERR_OUT_OF_RESOURCE;
    }
    made->buffer = buffer;
    made->count = count;
    made->type = type;
    made->unpack = !is_root;
    OBJ_RETAIN(type);
    if (is_root) (void)copy_packed(buffer, count, type, made->staged, call.bytes, true);
    plain = made->staged;
  }
  call.in = call.out = plain;
  return start(comm, module, &call, made, request);
}

/* --- Barrier: an allreduce of nothing --- */

int lfc_coll_barrier(ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  (void)comm;
  return run(module, &call);
}

int lfc_coll_ibarrier(ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* module) {
  const struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE};
  lfc_coll_request* made = OBJ_NEW(lfc_coll_request);
  return made == NULL ? OMPI_ERR_OUT_OF_RESOURCE : start(comm, module, &call, made, request);
}

/* --- Reductions --- */

int lfc_coll_reduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                    int root, ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.reduce(in, out, count, type, op, root, comm, own->below.reduce_module);
  call.in = in == MPI_IN_PLACE ? out : in;
  return run(module, &call);
}

int lfc_coll_ireduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                     int root, ompi_communicator_t* comm, ompi_request_t** request,
                     mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE, .root = root, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.ireduce(in, out, count, type, op, root, comm, request,
                              own->below.ireduce_module);
  lfc_coll_request* made = OBJ_NEW(lfc_coll_request);
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return start(comm, module, &call, made, request);
}

int lfc_coll_allreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  const lfc_coll_module* own = (lfc_coll_module*)module;
  struct lfc_coll_call call = {.kind = LFC_COLL_ALLREDUCE, .out = out};
  if (!describe_reduction(op, type, count, &call))
    return own->below.allreduce(in, out, count, type, op, comm, own->below.allreduce_module);
  if (call.bytes == 0) return OMPI_SUCCESS;
  call.in = in == MPI_IN_PLACE ? out : in;
  return run(module, &call);
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
  lfc_coll_request* made = OBJ_NEW(lfc_coll_request);
  if (made == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  call.in = in == MPI_IN_PLACE ? out : in;
  return start(comm, module, &call, made, request);
}
