#include "ompi_glue.h"

#include "ompi_config.h"
#include "ompi_version.h"

#include "completion.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/runtime/opal_progress.h"

int lfc_glue_fits(void) { return lfc_ompi_is_ours(); }

/* --- Requests --- */

typedef struct lfc_request {
  ompi_request_t super;
  void* object;
  const lfc_request_hooks* hooks;
} lfc_request;

static OBJ_CLASS_INSTANCE(lfc_request, ompi_request_t, NULL, NULL);

static int start_requests(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    lfc_request* request = (lfc_request*)requests[i];
    if (request->super.req_state == OMPI_REQUEST_ACTIVE)
      return request->hooks->start(request->object, 1);
    (void)lfc_request_completed(&request->super);  // the last time, perhaps by another thread
    request->super.req_complete = REQUEST_PENDING;
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->super.req_status = ompi_status_empty;
    const int result = request->hooks->start(request->object, 0);
    if (result == MPI_SUCCESS) continue;
    request->super.req_complete = REQUEST_COMPLETED;
    request->super.req_state = OMPI_REQUEST_INACTIVE;
    return result;
  }
  return MPI_SUCCESS;
}

static int free_request(ompi_request_t** handle) {
  lfc_request* request = (lfc_request*)*handle;
  *handle = MPI_REQUEST_NULL;
  if (request->hooks->freed(request->object)) lfc_request_end((MPI_Request)request);
  return OMPI_SUCCESS;
}

MPI_Request lfc_request_new(void* object, const lfc_request_hooks* hooks, int persistent,
                            MPI_Comm comm) {
  lfc_request* request = OBJ_NEW(lfc_request);
  if (request == NULL) return MPI_REQUEST_NULL;
  OMPI_REQUEST_INIT(&request->super, persistent != 0);
  /* Only this kind can be started and lets us choose the handler of its errors. */
  request->super.req_type = OMPI_REQUEST_PML;
  request->super.req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
  request->super.req_status = ompi_status_empty;
  request->super.req_start = start_requests;
  request->super.req_free = free_request;
  request->super.req_cancel = NULL;
  request->super.req_mpi_object.comm = comm;
  request->object = object;
  request->hooks = hooks;
  return (MPI_Request)request;
}

void* lfc_request_object(MPI_Request handle, const lfc_request_hooks* hooks) {
  ompi_request_t* request = (ompi_request_t*)handle;
  if (request == NULL || request == MPI_REQUEST_NULL || request->req_free != free_request)
    return NULL;
  lfc_request* ours = (lfc_request*)request;
  return ours->hooks == hooks ? ours->object : NULL;
}

void lfc_request_move(MPI_Request request, MPI_Comm comm) {
  ((ompi_request_t*)request)->req_mpi_object.comm = comm;
}

void lfc_request_complete(MPI_Request handle, int error, int source, uint64_t bytes) {
  ompi_request_t* request = (ompi_request_t*)handle;
  request->req_status.MPI_SOURCE = source;
  request->req_status.MPI_TAG = MPI_ANY_TAG;
  request->req_status.MPI_ERROR = error;
  request->req_status._ucount = (size_t)bytes;
  request->req_status._cancelled = 0;
  lfc_complete_request(request);
}

void lfc_request_end(MPI_Request handle) {
  ompi_request_t* request = (ompi_request_t*)handle;
  OMPI_REQUEST_FINI(request);
  OBJ_RELEASE(request);
}

MPI_Request lfc_request_finished(void) { return &ompi_request_empty; }

int lfc_request_start(MPI_Request* request) { return start_requests(1, request); }

int lfc_request_is_complete(MPI_Request request) {
  return lfc_request_completed((ompi_request_t*)request);
}

/* --- Windows --- */

lfc_window_free lfc_set_window_free(MPI_Win win, lfc_window_free instead) {
  ompi_osc_base_module_t* const module = ((ompi_win_t*)win)->w_osc_module;
  const lfc_window_free former = module->osc_free;
  module->osc_free = instead;
  return former;
}

/* --- Sessions --- */

int lfc_has_world(void) {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun && !ended;
}

/* Open MPI's own calls take the error handler of MPI_COMM_NULL where there is no MPI_COMM_WORLD. */
MPI_Comm lfc_errors_comm(void) { return lfc_has_world() ? MPI_COMM_WORLD : MPI_COMM_NULL; }

MPI_Comm lfc_comm_of_group(MPI_Group group, const char* tag) {
  MPI_Comm comm = MPI_COMM_NULL;
#if LFC_HAS_SESSIONS
  (void)MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
#else
  (void)group, (void)tag;
#endif
  return comm;
}

void lfc_at_end(void (*end)(void)) {
#if LFC_HAS_SESSIONS
  opal_finalize_register_cleanup(end);
#else
  (void)end; /* MPI starts once */
#endif
}

/* --- Progress --- */

void lfc_progress_add(int (*poll)(void)) { opal_progress_register(poll); }
void lfc_progress_remove(int (*poll)(void)) { opal_progress_unregister(poll); }
void lfc_progress(void) { opal_progress(); }

/* --- Datatypes --- */

int64_t lfc_contiguous_bytes(MPI_Datatype type, int count) {
  const opal_datatype_t* of = &type->super;
  const int contiguous = of->true_lb == 0 && ompi_datatype_is_contiguous_memory_layout(type, count);
  return contiguous ? (int64_t)of->size * count : -1;
}

void lfc_pieces(MPI_Datatype type, int count, void (*piece)(void*, ptrdiff_t, size_t),
                void* context) {
  enum { kPieces = 64 };
  /* Addresses behind a base of our own, so that offsets below it stay positive. */
  char* const base = (char*)((uintptr_t)1 << 46);
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, (size_t)count,
                                           base, 0, &convertor);
  for (int done = 0; !done;) {
    struct iovec pieces[kPieces];
    uint32_t used = kPieces;
    size_t bytes = 0;
    done = opal_convertor_raw(&convertor, pieces, &used, &bytes);
    for (uint32_t i = 0; i < used; ++i)
      if (pieces[i].iov_len > 0)
        piece(context, (char*)pieces[i].iov_base - base, pieces[i].iov_len);
  }
  opal_convertor_cleanup(&convertor);
  OBJ_DESTRUCT(&convertor);
}
