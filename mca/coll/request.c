#include "request.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "completion.h"
#include "failures.h"

static int mpi_status(enum lfc_coll_status status) {
  switch (status) {
    case LFC_COLL_OK: return OMPI_SUCCESS;
    case LFC_COLL_MISMATCH: return MPI_ERR_TRUNCATE;
    case LFC_COLL_NO_MEMORY: return OMPI_ERR_OUT_OF_RESOURCE;
    case LFC_COLL_REVOKED: return lfc_revocation_error();
    default: return lfc_loss_error(OMPI_ERR_UNREACH);
  }
}

static lfc_coll_communicator* communicator_of(mca_coll_base_module_t* module) {
  return lfc_coll_own(module)->communicator;
}

int lfc_coll_run_call(mca_coll_base_module_t* module, const struct lfc_coll_call* call) {
  return mpi_status(lfc_coll_run(communicator_of(module), call));
}

static int free_request(ompi_request_t** request) {
  if (!lfc_request_completed(*request)) return MPI_ERR_REQUEST;
  ompi_communicator_t* kept = (*request)->req_persistent ? (*request)->req_mpi_object.comm : NULL;
  OMPI_REQUEST_FINI(*request);
  OBJ_RELEASE(*request);
  if (kept != NULL) OBJ_RELEASE(kept);
  *request = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t* request, int flag) {
  (void)request;
  (void)flag;
  return MPI_ERR_REQUEST;
}

static void construct(lfc_coll_request* request) {
  request->base.super.req_type = OMPI_REQUEST_COLL;
  request->base.super.req_status._cancelled = 0;
  request->base.super.req_free = free_request;
  request->base.super.req_cancel = cancel_request;
  lfc_coll_operands_none(&request->operands);
  request->communicator = NULL;
  request->call = (struct lfc_coll_call){.neighbours = NULL};
}

static void destruct(lfc_coll_request* request) {
  (void)lfc_coll_operands_close(&request->operands, false);
  lfc_coll_part_from(request->call.neighbours);
  if (request->communicator != NULL) lfc_coll_leave(request->communicator);
}

static OBJ_CLASS_INSTANCE(lfc_coll_request, ompi_coll_base_nbc_request_t, construct, destruct);

lfc_coll_request* lfc_coll_request_new(void) { return OBJ_NEW(lfc_coll_request); }

/* Copies the result to the buffers of the program. */
static int close_result(lfc_coll_request* request, enum lfc_coll_status status) {
  const int result = mpi_status(status);
  bool ok = true;
  if (!request->base.super.req_persistent)
    ok = lfc_coll_operands_close(&request->operands, status == LFC_COLL_OK);
  else if (status == LFC_COLL_OK && !request->in_place)
    ok = lfc_coll_operands_spill(&request->operands);
  return ok || result != OMPI_SUCCESS ? result : OMPI_ERROR;
}

static void finish(lfc_coll_operation* operation, enum lfc_coll_status status) {
  lfc_coll_request* request =
      (lfc_coll_request*)((char*)operation - offsetof(lfc_coll_request, operation));
  ompi_communicator_t* comm = request->base.super.req_mpi_object.comm;
  request->base.super.req_status.MPI_ERROR = close_result(request, status);
  lfc_complete_request(&request->base.super);
  OBJ_RELEASE(comm);
}

static void prepare(lfc_coll_request* request, ompi_communicator_t* comm, bool persistent) {
  static atomic_bool registered; /* twice does no harm */
  if (!atomic_load_explicit(&registered, memory_order_relaxed)) {
    atomic_store_explicit(&registered, true, memory_order_relaxed);
    opal_progress_register(lfc_coll_progress);
  }
  OMPI_REQUEST_INIT(&request->base.super, persistent);
  request->base.super.req_mpi_object.comm = comm;
  request->base.super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
  request->base.super.req_status.MPI_TAG = MPI_ANY_TAG;
  request->base.super.req_status.MPI_ERROR = MPI_SUCCESS;
  request->base.super.req_status._ucount = 0;
}

static void begin(lfc_coll_request* request, lfc_coll_communicator* communicator,
                  const struct lfc_coll_call* call) {
  OBJ_RETAIN(request->base.super.req_mpi_object
                 .comm); /* it may be freed before the operation has finished */
  const enum lfc_coll_status failure = lfc_failure_of(request->base.super.req_mpi_object.comm);
  if (failure != LFC_COLL_OK)
    finish(&request->operation, failure);
  else
    lfc_coll_start(communicator, call, &request->operation, finish);
}

int lfc_coll_request_start(lfc_coll_request* request, ompi_communicator_t* comm,
                           mca_coll_base_module_t* module, const struct lfc_coll_call* call,
                           ompi_request_t** out) {
  prepare(request, comm, false);
  request->base.super.req_state = OMPI_REQUEST_ACTIVE;
  *out = &request->base.super;
  begin(request, communicator_of(module), call);
  return OMPI_SUCCESS;
}

/* --- Persistent ones --- */

static int start_again(lfc_coll_request* request) {
  ompi_request_t* super = &request->base.super;
  (void)lfc_request_completed(super); /* the last time, perhaps by another thread */
  if (!request->in_place && !lfc_coll_operands_fill(&request->operands)) return OMPI_ERROR;
  super->req_state = OMPI_REQUEST_ACTIVE;
  enum lfc_coll_status status = lfc_failure_of(super->req_mpi_object.comm);
  if (status != LFC_COLL_OK || lfc_coll_try(request->communicator, &request->call, &status)) {
    super->req_status.MPI_ERROR = close_result(request, status);
    return OMPI_SUCCESS; /* it has been complete all the time */
  }
  super->req_complete = REQUEST_PENDING;
  begin(request, request->communicator, &request->call);
  return OMPI_SUCCESS;
}

static int start_all(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    const int status = start_again((lfc_coll_request*)requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
}

/* Each rank that makes a board for the group knows only its own boards. NULL: it has no group. */
static bool all_have_room(const lfc_coll_communicator* group, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module) {
  int room = group != NULL && (lfc_coll_reach(group) & LFC_COLL_ROOM) != 0;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, allreduce);
  return below->coll_allreduce(MPI_IN_PLACE, &room, 1, MPI_INT, MPI_MIN, comm, below) ==
             OMPI_SUCCESS &&
         room;
}

/* A group of the request's own: each rank may start its requests in an order of its own, between other calls, and the
 * steps of one group are numbered in the order in which they begin. All ranks make the requests of a communicator in
 * the same order, and so its groups. */
static int set_apart(lfc_coll_request* request, ompi_communicator_t* comm,
                     mca_coll_base_module_t* module, const struct lfc_coll_call* call) {
  const enum lfc_coll_use use =
      call->neighbours == NULL ? LFC_COLL_REQUEST : LFC_COLL_NEIGHBOUR_REQUEST;
  lfc_coll_communicator* group = lfc_coll_join_again(comm, use);
  const bool has_room = all_have_room(request == NULL ? NULL : group, comm, module);
  /* A rank without a request joins all the same: the names of later groups are counted at each rank. */
  if (request != NULL)
    request->communicator = group;
  else if (group != NULL)
    lfc_coll_leave(group);
  if (!has_room)
    return lfc_coll_has_persistent_below(module) ? OMPI_ERR_NOT_SUPPORTED
                                                 : OMPI_ERR_OUT_OF_RESOURCE;
  request->call = *call;
  if (call->neighbours == NULL) return OMPI_SUCCESS;
  request->call.neighbours = lfc_coll_meet(group, &lfc_coll_own(module)->topology);
  return request->call.neighbours != NULL ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

int lfc_coll_request_keep(lfc_coll_request* request, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module, const struct lfc_coll_call* call,
                          ompi_request_t** out) {
  const int status = set_apart(request, comm, module, call);
  if (status != OMPI_SUCCESS) {
    if (request != NULL) OBJ_RELEASE(request);
    return status;
  }
  prepare(request, comm, true);
  OBJ_RETAIN(comm); /* the program may free it, and start the request again */
  request->base.super.req_start = start_all;
  request->in_place = lfc_coll_operands_in_place(&request->operands);
  *out = &request->base.super;
  return OMPI_SUCCESS;
}
