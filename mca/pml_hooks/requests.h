/* Requests that channels may complete. All are found by Open MPI's request, in a time that does not depend on their
 * number.
 *
 *   ordinary receive   a request of LFC's, which serves one receive after another. If no channel may complete it, ob1
 *                      receives into the same buffer by a request of its own, whose end ends LFC's.
 *   persistent         a request of ob1's, of which LFC replaces the functions start, free and cancel. ob1 does not
 *                      start it while a channel serves it.
 *
 *   if (!lfc_requests_open()) return;
 *   struct lfc_receive* receive = lfc_receive_take(buffer, count, type, source, tag, comm);          // MPI_Recv
 *   if (receive != NULL) lfc_receive_recycle(receive);
 *   struct lfc_persistent* made = lfc_persistent_make(LFC_PERSISTENT_OTHER_SEND, comm, 3, tag, request);
 *   if (made != NULL) lfc_persistent_take_over(made, start);                                  // MPI_Send_init
 *   if (lfc_is_persistent(request)) lfc_persistent_start_by_ob1(lfc_persistent_of(request), &request);
 *   lfc_requests_close();
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_REQUESTS_H
#define LFC_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

#pragma GCC visibility push(hidden)

/* False: memory is short. */
bool lfc_requests_open(void);
void lfc_requests_close(void);

/* Whether the bytes follow each other in memory. */
static inline bool lfc_is_one_piece(const ompi_datatype_t* type, size_t count) {
  return opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)count);
}

/* Completes a request whose status has source and tag. Only a waiter that sleeps (another thread), or waits for any of
 * several, has replaced REQUEST_PENDING. */
static inline void lfc_request_complete(ompi_request_t* request, size_t bytes) {
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_status._ucount = bytes;
  request->req_status._cancelled = false;
  if (request->req_complete == REQUEST_PENDING && request->req_complete_cb == NULL)
    request->req_complete = REQUEST_COMPLETED;
  else
    (void)ompi_request_complete(request, true);
}

/* --- Ordinary receives --- */

/* Its source, tag and communicator are in the program's request. */
struct lfc_receive {
  struct lfc_channel_request on_channel; /* first, as in struct lfc_persistent */
  ompi_request_t request;                /* the program's */
  lfc_channel_receive* channel;
  ompi_request_t* ob1_request;   /* NULL: not posted to ob1, or it has ended there */
  bool freed;                    /* by the program, before it has ended at ob1 */
  bool cancelled;                /* at ob1, or it could not be posted */
  ompi_communicator_t* retained; /* by this request; so is `type` */
  void* buffer;
  size_t count;
  ompi_datatype_t* type;
  struct lfc_receive* next_spare;
};
extern struct lfc_receive* lfc_spare_receives;

/* Allocates a receive. NULL: memory is short. */
struct lfc_receive* lfc_receive_make(void);
/* Frees what the program's request holds; another receive will use it. The communicator may go with it. */
void lfc_receive_recycle(struct lfc_receive* receive);
/* Frees the program's request, or has it freed at its end. */
int lfc_receive_free(ompi_request_t** request);

/* Returns an active receive with these arguments, which no channel has yet. NULL: memory is short. */
static inline struct lfc_receive* lfc_receive_take(void* buffer, size_t count,
                                                   ompi_datatype_t* type, int source, int tag,
                                                   ompi_communicator_t* comm) {
  struct lfc_receive* receive = lfc_spare_receives;
  if (receive != NULL)
    lfc_spare_receives = receive->next_spare;
  else if ((receive = lfc_receive_make()) == NULL)
    return NULL;
  receive->request.req_complete = REQUEST_PENDING;
  receive->request.req_complete_cb = NULL;
  receive->request.req_state = OMPI_REQUEST_ACTIVE;
  receive->request.req_mpi_object.comm = comm;
  receive->ob1_request = NULL;
  receive->request.req_status.MPI_SOURCE = source;
  receive->request.req_status.MPI_TAG = tag;
  receive->freed = receive->cancelled = false;
  receive->retained = NULL;
  receive->buffer = buffer;
  receive->count = count;
  receive->type = type;
  return receive;
}

/* Retains the communicator and the type, which may be freed before the request ends, unless they are predefined. */
static inline void lfc_receive_retain(struct lfc_receive* receive, ompi_communicator_t* comm) {
  if (OMPI_COMM_IS_INTRINSIC(comm) && ompi_datatype_is_predefined(receive->type)) return;
  receive->retained = comm;
  OBJ_RETAIN(comm);
  if (!ompi_datatype_is_predefined(receive->type)) OBJ_RETAIN(receive->type);
}

static inline bool lfc_is_ordinary_receive(const ompi_request_t* request) {
  return request->req_free == lfc_receive_free;
}

/* --- Persistent requests --- */

enum lfc_persistent_kind {
  LFC_PERSISTENT_SEND,
  LFC_PERSISTENT_RECEIVE,
  LFC_PERSISTENT_OTHER_SEND,    /* ob1 serves it: another component's, or the report counts it */
  LFC_PERSISTENT_OTHER_RECEIVE, /* ob1 serves it */
};

struct lfc_persistent {
  struct lfc_channel_request on_channel; /* first, as in struct lfc_receive */
  enum lfc_persistent_kind kind;
  bool called; /* it is another component's, with a completion callback; no channel serves it */
  ompi_request_t* request;
  ompi_request_start_fn_t start; /* ob1's, as the next two */
  ompi_request_free_fn_t release;
  ompi_request_cancel_fn_t cancel;
  ompi_communicator_t* comm;
  void* address;
  size_t bytes;
  int peer, tag; /* the program's; of a receive may be MPI_ANY_... */
  lfc_channel_sender* sender;
  lfc_channel_receive* receive;
};

/* The functions that free such requests, which identify them: those of the program, and those with a completion
 * callback. */
int lfc_persistent_free(ompi_request_t** request);
int lfc_persistent_free_called(ompi_request_t** request);

static inline bool lfc_is_persistent(const ompi_request_t* request) {
  return request->req_free == lfc_persistent_free ||
         request->req_free == lfc_persistent_free_called;
}

/* Finds it in the index. */
struct lfc_persistent* lfc_persistent_search(const ompi_request_t* request);

/* A persistent request of the program has no completion callback, so the field for its argument is free. */
static inline struct lfc_persistent* lfc_persistent_of(const ompi_request_t* request) {
  return request->req_free == lfc_persistent_free ? request->req_complete_cb_data
                                                  : lfc_persistent_search(request);
}

/* Makes one for a request of ob1's. NULL: memory is short. */
struct lfc_persistent* lfc_persistent_make(enum lfc_persistent_kind kind, ompi_communicator_t* comm,
                                           int peer, int tag, ompi_request_t* request);
/* Frees it, if it has not taken over its request. */
void lfc_persistent_drop(struct lfc_persistent* persistent);
/* Replaces ob1's functions of its request. */
void lfc_persistent_take_over(struct lfc_persistent* persistent, ompi_request_start_fn_t start);
/* Notes that a component has set a completion callback since the request was made: ob1 serves it from now on. */
void lfc_persistent_note_callback(ompi_request_t* request);
/* ob1 may replace the request. */
int lfc_persistent_start_by_ob1(struct lfc_persistent* persistent, ompi_request_t** request);

static inline void lfc_persistent_activate(ompi_request_t* request) {
  request->req_state = OMPI_REQUEST_ACTIVE;
  request->req_complete = REQUEST_PENDING;
  request->req_status._cancelled = false;
}

#pragma GCC visibility pop

#endif
