/* Persistent requests on channels: Open MPI's part of it (common/services/channels/README.md has the argument).
 *
 * persistent_channels.c  hooks in calls of the PML and in arrivals for it
 * persistent_requests.c  persistent requests: ob1's own, of which LFC replaces start, free and cancel
 * ordinary_messages.c    ordinary sends and receives
 *
 *   lfc_persistent_install(threads, false);     // at init_query: hooks the calls for persistent requests
 *   lfc_persistent_remove();             // at close
 *
 * Only over ob1, in programs with one thread. The first persistent receive that could have a channel installs the other
 * hooks (lfc_persistent_watch()); programs without such a receive execute no further instruction.
 */
#ifndef LFC_PERSISTENT_CHANNELS_H
#define LFC_PERSISTENT_CHANNELS_H

#include "communicator_key.h"
#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

/* Longer messages, in bytes, cost far more than their matching. */
enum { LFC_LONGEST_ON_CHANNEL = 4096 };

/* A function that is called by jumps, so that its caller needs no registers of its own. */
#define LFC_APART static __attribute__((noinline))

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

/* --- persistent_channels.c --- */

/* `planned`: also for the ordinary messages of the plan that is open. */
bool lfc_persistent_install(bool threads, bool planned);
void lfc_persistent_remove(void);
/* Sets this process's end of the channel for messages of this tag from or to this rank. False: there can be none. */
bool lfc_persistent_end(ompi_communicator_t* comm, int rank, int tag, struct lfc_channel_end* end);
/* Returns the time in us that a message of this source and tag saves on a channel, by the plan. 0: the plan does not
 * have it. */
double lfc_persistent_gain_us(ompi_communicator_t* comm, int source, int tag);
/* Installs the hooks in receives and arrivals. False: ob1 has no callback for messages, so that there is none to
 * hook. */
bool lfc_persistent_watch(void);
/* Prepares for a receive that is posted below by others. */
void lfc_persistent_other(const ompi_communicator_t* comm, int source, int tag);
/* The PML's calls for such receives. */
int lfc_persistent_other_irecv(void* buffer, size_t count, ompi_datatype_t* type, int source,
                               int tag, ompi_communicator_t* comm, ompi_request_t** request);
int lfc_persistent_other_recv(void* buffer, size_t count, ompi_datatype_t* type, int source,
                              int tag, ompi_communicator_t* comm, ompi_status_public_t* status);

/* --- persistent_requests.c --- */

/* Installs waits that drive LFC before the rest of Open MPI. */
void lfc_persistent_requests_watch(void);
void lfc_persistent_requests_close(void);
int lfc_persistent_isend_init(const void* buffer, size_t count, ompi_datatype_t* type,
                              int destination, int tag, mca_pml_base_send_mode_t mode,
                              ompi_communicator_t* comm, ompi_request_t** request);
int lfc_persistent_irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int source,
                              int tag, ompi_communicator_t* comm, ompi_request_t** request);
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
