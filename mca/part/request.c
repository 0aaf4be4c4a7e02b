/* Partitioned sends and receives as MPI's requests. */
#include <limits.h>
#include <stdlib.h>

#include "buffer.h"
#include "communicator_key.h"
#include "completion.h"
#include "failures.h"
#include "modex.h"
#include "part_lfc.h"

#include "ompi/mca/pml/pml.h"

typedef struct lfc_part_mpi {
  ompi_request_t super;
  lfc_part_request* engine; /* NULL: with MPI_PROC_NULL */
  lfc_part_buffer buffer;
  int rank, tag;
  bool sends;
} lfc_part_mpi;

static OBJ_CLASS_INSTANCE(lfc_part_mpi, ompi_request_t, NULL, NULL);

/* --- Its end --- */

static void destroy(lfc_part_mpi* request) {
  lfc_part_buffer_close(&request->buffer);
  OBJ_RELEASE(request->super.req_mpi_object.comm);
  OBJ_RELEASE(request);
}

static void dropped(void* owner) { destroy(owner); }

static int free_request(ompi_request_t** handle) {
  lfc_part_mpi* request = (lfc_part_mpi*)*handle;
  *handle = MPI_REQUEST_NULL;
  OMPI_REQUEST_FINI(&request->super);
  if (request->engine == NULL || lfc_part_release(request->engine)) destroy(request);
  return OMPI_SUCCESS;
}

/* Called when an epoch has ended. */
static void complete(lfc_part_mpi* request, int error, uint64_t bytes) {
  ompi_status_public_t* status = &request->super.req_status;
  status->MPI_SOURCE = request->rank;
  status->MPI_TAG = request->tag;
  status->MPI_ERROR = error;
  status->_cancelled = 0;
  status->_ucount = bytes;
  lfc_complete_request(&request->super);
}

static void done(void* owner, enum lfc_part_status status, uint64_t bytes) {
  lfc_part_mpi* request = owner;
  int error = MPI_SUCCESS;
  if (status == LFC_PART_TRUNCATED) error = MPI_ERR_TRUNCATE;
  if (status == LFC_PART_LOST) error = lfc_loss_error(MPI_ERR_OTHER);
  const size_t partitions = request->buffer.partitions;
  if (!request->sends && status != LFC_PART_LOST && partitions > 0 &&
      !lfc_part_buffer_unpack(&request->buffer, 0, partitions - 1, bytes))
    error = MPI_ERR_INTERN;
  complete(request, error, bytes);
}

const struct lfc_part_host lfc_part_requests = {done, dropped};

/* --- Start, ready, arrived --- */

static int start_one(lfc_part_mpi* request) {
  if (request->super.req_state == OMPI_REQUEST_ACTIVE) return MPI_ERR_REQUEST;
  (void)lfc_request_completed(&request->super); /* the last time, perhaps by another thread */
  request->super.req_state = OMPI_REQUEST_ACTIVE;
  request->super.req_complete = REQUEST_PENDING;
  lfc_part_buffer_restart(&request->buffer);
  if (request->engine == NULL)
    complete(request, MPI_SUCCESS, 0);
  else if (!lfc_part_start(request->engine))
    return OMPI_ERR_OUT_OF_RESOURCE;
  return OMPI_SUCCESS;
}

static int start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    const int status = start_one((lfc_part_mpi*)requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
}

static bool is_ours(const ompi_request_t* request) { return request->req_free == free_request; }

static int ready(size_t first, size_t last, ompi_request_t* super) {
  if (!is_ours(super))
    return lfc_part_persist == NULL ? MPI_ERR_REQUEST
                                    : lfc_part_persist->part_pready(first, last, super);
  lfc_part_mpi* request = (lfc_part_mpi*)super;
  if (!request->sends || super->req_state != OMPI_REQUEST_ACTIVE) return MPI_ERR_REQUEST;
  if (first > last || last >= request->buffer.partitions) return MPI_ERR_ARG;
  if (request->engine == NULL) return OMPI_SUCCESS;
  if (!lfc_part_buffer_pack(&request->buffer, first, last)) return MPI_ERR_INTERN;
  return lfc_part_ready(request->engine, first, last) ? OMPI_SUCCESS : MPI_ERR_ARG;
}

static int arrived(size_t first, size_t last, int* flag, ompi_request_t* super) {
  if (!is_ours(super))
    return lfc_part_persist == NULL ? MPI_ERR_REQUEST
                                    : lfc_part_persist->part_parrived(first, last, flag, super);
  lfc_part_mpi* request = (lfc_part_mpi*)super;
  if (request->sends) return MPI_ERR_REQUEST;
  if (first > last || last >= request->buffer.partitions) return MPI_ERR_ARG;
  *flag = 1;
  if (request->engine == NULL || lfc_request_completed(super)) return OMPI_SUCCESS;
  bool there = lfc_part_arrived(request->engine, first, last);
  if (!there) {
    opal_progress();
    there = !lfc_request_completed(super) && lfc_part_arrived(request->engine, first, last);
  }
  if (there && !lfc_part_buffer_unpack(&request->buffer, first, last, SIZE_MAX))
    return MPI_ERR_INTERN;
  *flag = there || lfc_request_completed(super);
  return OMPI_SUCCESS;
}

/* --- Its beginning --- */

static int check(const struct lfc_part_call* call) {
  if (ompi_comm_invalid(call->comm)) return MPI_ERR_COMM;
  if (call->partitions > INT_MAX) return MPI_ERR_ARG; /* it was negative */
  if (call->count > PTRDIFF_MAX) return MPI_ERR_COUNT;
  if (call->type == NULL || call->type == MPI_DATATYPE_NULL ||
      !opal_datatype_is_committed(&call->type->super))
    return MPI_ERR_TYPE;
  if (call->tag < 0 || call->tag > mca_pml.pml_max_tag) return MPI_ERR_TAG;
  if (call->rank != MPI_PROC_NULL && ompi_comm_peer_invalid(call->comm, call->rank))
    return MPI_ERR_RANK;
  size_t bytes = 0;
  if (__builtin_mul_overflow(call->count, call->type->super.size, &bytes) ||
      __builtin_mul_overflow(bytes, call->partitions, &bytes) || bytes > PTRDIFF_MAX)
    return MPI_ERR_COUNT;
  if (call->address == NULL && bytes > 0 && call->type->super.true_lb == 0) return MPI_ERR_BUFFER;
  return OMPI_SUCCESS;
}

/* The engine's peer, if both processes have LFC and this component. Both decide by published facts, hence alike. */
static uint32_t find_peer(const ompi_proc_t* proc, char* why, size_t why_size) {
  const opal_process_name_t* name = &proc->super.proc_name;
  uint8_t* address = NULL;
  size_t size = 0;
  snprintf(why, why_size, "one of the two has no part lfc");
  if (proc->super.proc_arch != ompi_proc_local()->super.proc_arch ||
      (lfc_modex_parts(&proc->super) & LFC_EXCHANGE_PART) == 0 ||
      (lfc_exchange_own().parts & LFC_EXCHANGE_PART) == 0)
    return LFC_NO_PEER;
  uint32_t peer = lfc_find_peer(name->jobid, name->vpid);
  if (peer != LFC_NO_PEER || !lfc_modex_find_address(&proc->super, &address, &size)) return peer;
  peer = lfc_add_peer(address, size, why, why_size);
  free(address);
  return peer;
}

static void print_path(const struct lfc_part_call* call, const char* not_why) {
  if (mca_part_lfc_component.parameters.verbose == 0) return;
  opal_output(0, "part lfc: %s %s rank %d of %s, tag %d: %s%s", call->sends ? "send" : "receive",
              call->sends ? "to" : "from", call->rank, call->comm->c_name, call->tag,
              not_why == NULL ? "served" : "left to persist: ", not_why == NULL ? "" : not_why);
}

static lfc_part_mpi* make(const struct lfc_part_call* call) {
  lfc_part_mpi* request = OBJ_NEW(lfc_part_mpi);
  if (request == NULL) return NULL;
  OMPI_REQUEST_INIT(&request->super, true);
  request->super.req_type = OMPI_REQUEST_PART;
  request->super.req_start = start;
  request->super.req_free = free_request;
  request->super.req_cancel = NULL;
  request->super.req_status = ompi_status_empty;
  request->super.req_mpi_object.comm = call->comm;
  OBJ_RETAIN(call->comm);
  request->engine = NULL;
  request->rank = call->rank;
  request->tag = call->rank == MPI_PROC_NULL ? MPI_ANY_TAG : call->tag;
  request->sends = call->sends;
  return request;
}

static int serve(const struct lfc_part_call* call, uint32_t peer, ompi_request_t** out) {
  lfc_part_mpi* request = make(call);
  if (request == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  bool ok = lfc_part_buffer_open(&request->buffer, call->address, call->partitions, call->count,
                                 call->type);
  if (ok && call->rank != MPI_PROC_NULL) {
    const struct lfc_part_shape shape = {.peer = peer,
                                         .comm = lfc_communicator_key(call->comm),
                                         .tag = call->tag,
                                         .partitions = call->partitions,
                                         .bytes = request->buffer.each};
    request->engine = call->sends ? lfc_part_send(&shape, request->buffer.bytes, request)
                                  : lfc_part_receive(&shape, request->buffer.bytes, request);
    ok = request->engine != NULL;
  }
  if (!ok) {
    destroy(request);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  *out = &request->super;
  return OMPI_SUCCESS;
}

static int init(const struct lfc_part_call* call, ompi_request_t** request) {
  char why[256];
  const int status = check(call);
  if (status != OMPI_SUCCESS) return status;
  if (call->rank == MPI_PROC_NULL) return serve(call, LFC_NO_PEER, request);
  const uint32_t peer = find_peer(ompi_comm_peer_lookup(call->comm, call->rank), why, sizeof why);
  print_path(call, peer == LFC_NO_PEER ? why : NULL);
  return peer == LFC_NO_PEER ? lfc_part_persist_init(call, request) : serve(call, peer, request);
}

static int precv_init(void* buffer, size_t partitions, size_t count, ompi_datatype_t* type,
                      int source, int tag, ompi_communicator_t* comm, ompi_info_t* info,
                      ompi_request_t** request) {
  const struct lfc_part_call call = {false,  buffer, partitions, count, type,
                                     source, tag,    comm,       info};
  return init(&call, request);
}

static int psend_init(const void* buffer, size_t partitions, size_t count, ompi_datatype_t* type,
                      int destination, int tag, ompi_communicator_t* comm, ompi_info_t* info,
                      ompi_request_t** request) {
  const struct lfc_part_call call = {
      true, (void*)(uintptr_t)buffer, partitions, count, type, destination, tag, comm, info};
  return init(&call, request);
}

static int progress(void) {
  lfc_report_failures();
  return lfc_part_progress();
}

mca_part_base_module_t lfc_part_module = {.part_progress = progress,
                                          .part_precv_init = precv_init,
                                          .part_psend_init = psend_init,
                                          .part_start = start,
                                          .part_pready = ready,
                                          .part_parrived = arrived};
