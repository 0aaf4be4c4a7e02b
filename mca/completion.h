/* Completion of requests between threads. Open MPI's own exchange on `req_complete` does not release, so a thread that
 * waits might read an old status or result where processors reorder stores.
 *
 *   request->req_status.MPI_ERROR = error;
 *   lfc_complete_request(request);                                 // one thread
 *   if (!lfc_request_completed(request)) return MPI_ERR_REQUEST;   // another, before it frees or restarts the request
 */
#ifndef LFC_MCA_COMPLETION_H
#define LFC_MCA_COMPLETION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "handed_over.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/request/request.h"

/* Completes the request and wakes a thread that waits for it. Pairs with the acquire in lfc_request_completed(): the
 * status and the result are visible to the thread that sees the request complete.
 *
 * It does what ompi_request_complete() does, but that one reads the status after the exchange. By then a thread in
 * MPI_Waitany or MPI_Test may have seen the request complete, and freed it. */
static inline void lfc_complete_request(ompi_request_t* request) {
  const ompi_request_complete_fn_t notify = request->req_complete_cb;
  if (notify != NULL) {
    request->req_complete_cb = NULL; /* the callback may set another one */
    if (notify(request) != OMPI_SUCCESS) return;
  }
  const int error = request->req_status.MPI_ERROR;
  LFC_PASSED_ON(request);
  atomic_thread_fence(memory_order_release);
  void* const waiting = (void*)OPAL_ATOMIC_SWAP_PTR(&request->req_complete, REQUEST_COMPLETED);
  if (waiting != (void*)REQUEST_PENDING) wait_sync_update((ompi_wait_sync_t*)waiting, 1, error);
}

/* Whether the request is complete. Any thread. */
static inline bool lfc_request_completed(ompi_request_t* request) {
  if (!REQUEST_COMPLETE(request)) return false;
  atomic_thread_fence(memory_order_acquire);
  LFC_TAKEN_OVER(request);
  return true;
}

#endif
