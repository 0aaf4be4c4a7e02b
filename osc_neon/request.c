/* Requests of rput and its relatives. */
#include "completion.h"
#include "osc_neon.h"

static int cancel(ompi_request_t* request, int complete) {
  (void)request;
  (void)complete;
  return MPI_ERR_REQUEST;
}

static int release(ompi_request_t** request) {
  if (!lfc_request_completed(*request)) return MPI_ERR_REQUEST;
  OMPI_REQUEST_FINI(*request);
  OBJ_RELEASE(*request);
  *request = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

ompi_request_t* rma_request_new(ompi_win_t* win) {
  ompi_request_t* request = OBJ_NEW(ompi_request_t);
  if (request == NULL) return NULL;
  OMPI_REQUEST_INIT(request, false);
  request->req_type = OMPI_REQUEST_WIN;
  request->req_state = OMPI_REQUEST_ACTIVE;
  request->req_mpi_object.win = win;
  request->req_free = release;
  request->req_cancel = cancel;
  request->req_status._cancelled = 0;
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_status._ucount = 0;
  return request;
}

void rma_request_finished(void* finished, enum lfc_rma_status status) {
  ompi_request_t* request = finished;
  if (status != LFC_RMA_OK)
    request->req_status.MPI_ERROR = ompi_errcode_get_mpi_code(rma_error(status));
  lfc_complete_request(request);
}
