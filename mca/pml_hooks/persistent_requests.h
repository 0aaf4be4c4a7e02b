/* Persistent requests on channels: ob1's own, of which LFC replaces start, free and cancel.
 *
 *   lfc_persistent_requests_install();              // with the other hooks
 *   lfc_persistent_requests_close();                // at close
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_PERSISTENT_REQUESTS_H
#define LFC_PERSISTENT_REQUESTS_H

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

/* Longer messages, in bytes, cost far more than their matching. */
enum { LFC_LONGEST_ON_CHANNEL = 4096 };

enum lfc_persistent_kind {
  LFC_PERSISTENT_SEND,
  LFC_PERSISTENT_RECEIVE,
  LFC_PERSISTENT_OTHER,      /* a receive that no channel serves */
  LFC_PERSISTENT_OTHER_SEND, /* such a send: another component's, or one that the report counts */
  LFC_ORDINARY_RECEIVE       /* struct ordinary (ordinary_messages.c) */
};

/* A persistent request. */
struct lfc_persistent {
  enum lfc_persistent_kind kind;       /* first, as in all receives of channels */
  struct lfc_persistent *next, **link; /* in the list of all; the pointer to this one */
  ompi_request_t* request;
  bool called; /* it is another component's, with a callback, and no channel serves it */
  ompi_request_start_fn_t start; /* ob1's */
  ompi_request_free_fn_t release;
  ompi_request_cancel_fn_t cancel;
  ompi_communicator_t* comm;
  void* address;
  size_t bytes;
  int peer, tag; /* the program's; of a receive may be MPI_ANY_... */
  lfc_channel_sender* sender;
  lfc_channel_receive* receive;
};

static inline bool lfc_is_one_piece(const ompi_datatype_t* type, size_t count) {
  return opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)count);
}

/* Replaces the calls of the PML for persistent requests. */
void lfc_persistent_requests_install(void);
/* Installs waits that drive LFC before the rest of Open MPI. */
void lfc_persistent_requests_watch(void);
void lfc_persistent_requests_close(void);
int lfc_persistent_start(size_t count, ompi_request_t** requests);
/* Drives the engine until the request is complete, for a while. */
void lfc_persistent_drive(const ompi_request_t* request);
/* Completes a request whose status has source and tag. Only a waiter that sleeps (another thread), or waits for any of
 * several, has replaced REQUEST_PENDING. */
static inline void lfc_persistent_complete(ompi_request_t* request, size_t bytes) {
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_status._ucount = bytes;
  request->req_status._cancelled = false;
  if (request->req_complete == REQUEST_PENDING && request->req_complete_cb == NULL)
    request->req_complete = REQUEST_COMPLETED;
  else
    (void)ompi_request_complete(request, true);
}
/* The functions of lfc_channel_host for requests. */
void lfc_persistent_post(void* request);
enum lfc_channel_outcome lfc_persistent_outcome(void* request);
void lfc_persistent_done(void* request, const void* bytes, size_t size);

#endif
