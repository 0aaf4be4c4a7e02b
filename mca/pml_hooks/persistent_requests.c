/* Persistent requests on channels: requests of ob1, which ob1 does not start while a channel serves them. */
#include "persistent_requests.h"

#include <stdlib.h>
#include <string.h>

#include "channel_ends.h"
#include "ob1.h"
#include "observer.h"
#include "ordinary_messages.h"
#include "report.h"

#include "ompi/mca/pml/base/pml_base_request.h"

/* kLooks: how often a wait drives LFC alone before all of Open MPI, which may give up the processor. One of kUsual
 * waits drives all of Open MPI at once, so that its other parts make progress. */
enum { kLooks = 32, kUsual = 16 };

static struct {
  struct lfc_persistent* all;
  ompi_request_fns_t original; /* Open MPI's own waits; empty: not replaced */
  unsigned waits;
} persistent_requests;

static int wait_for_one(ompi_request_t** request, ompi_status_public_t* status);
static int wait_for_all(size_t count, ompi_request_t** requests, ompi_status_public_t* statuses);

void lfc_persistent_requests_watch(void) {
  persistent_requests.original = ompi_request_functions;
  ompi_request_functions.req_wait = wait_for_one;
  ompi_request_functions.req_wait_all = wait_for_all;
}

void lfc_persistent_requests_close(void) {
  if (persistent_requests.original.req_wait != NULL)
    ompi_request_functions = persistent_requests.original;
  while (persistent_requests.all != NULL) {
    struct lfc_persistent* next = persistent_requests.all->next;
    free(persistent_requests.all);
    persistent_requests.all = next;
  }
  memset(&persistent_requests, 0, sizeof persistent_requests);
}

/* Marks a request with a completion callback: another component's (osc pt2pt). */
static int start_with_callback(size_t count, ompi_request_t** requests) {
  return lfc_persistent_start(count, requests);
}

static bool is_ours(const ompi_request_t* request) {
  return request->req_start == lfc_persistent_start || request->req_start == start_with_callback;
}

/* A persistent request of the program has no completion callback, so the field for its argument is free. */
static struct lfc_persistent* persistent_of(const ompi_request_t* request) {
  if (request->req_start == lfc_persistent_start) return request->req_complete_cb_data;
  struct lfc_persistent* each = persistent_requests.all;
  while (each->request != request) each = each->next;
  return each;
}

/* --- Calls to ob1 --- */

static int release(ompi_request_t** request);
static int cancel(ompi_request_t* request, int flag);

static void take_over(struct lfc_persistent* persistent, ompi_request_t* request) {
  persistent->request = request;
  persistent->start = request->req_start;
  persistent->release = request->req_free;
  persistent->cancel = request->req_cancel;
  request->req_start = persistent->called ? start_with_callback : lfc_persistent_start;
  request->req_free = release;
  request->req_cancel = cancel;
  if (!persistent->called) request->req_complete_cb_data = persistent;
}

/* Restores the request before ob1 reuses it. */
static void give_back(struct lfc_persistent* persistent) {
  persistent->request->req_start = persistent->start;
  persistent->request->req_free = persistent->release;
  persistent->request->req_cancel = persistent->cancel;
  if (!persistent->called) persistent->request->req_complete_cb_data = NULL;
}

/* ob1 replaces the request where it has not finished the last message of this one. */
static int start_by_ob1(struct lfc_persistent* persistent, ompi_request_t** request) {
  ompi_request_t* const before = *request;
  const int status = persistent->start(1, request);
  if (*request != before) {
    give_back(persistent);
    take_over(persistent, *request);
  }
  return status;
}

/* A thread that waits for the request goes on waiting. */
void lfc_persistent_post(void* request) {
  struct lfc_persistent* persistent = request;
  ompi_request_t* ob1_request = persistent->request;
  volatile void* const waiting = ob1_request->req_complete;
  const bool active = ob1_request->req_state == OMPI_REQUEST_ACTIVE;
  ob1_request->req_state = OMPI_REQUEST_INACTIVE;
  (void)start_by_ob1(persistent, &ob1_request);
  if (!active || waiting == REQUEST_PENDING || waiting == REQUEST_COMPLETED) return;
  const bool complete = REQUEST_COMPLETE(ob1_request);
  ob1_request->req_complete = waiting;
  if (complete) (void)ompi_request_complete(ob1_request, true);
}

enum lfc_channel_outcome lfc_persistent_outcome(void* request) {
  const ompi_request_t* ob1_request = ((const struct lfc_persistent*)request)->request;
  if (!REQUEST_COMPLETE(ob1_request)) return LFC_CHANNEL_PENDING;
  return ob1_request->req_status._cancelled ? LFC_CHANNEL_CANCELLED : LFC_CHANNEL_MATCHED;
}

/* --- Calls of the program --- */

static void activate(ompi_request_t* request) {
  request->req_state = OMPI_REQUEST_ACTIVE;
  request->req_complete = REQUEST_PENDING;
  request->req_status._cancelled = false;
}

/* The request waits, or it is being started and its message is there already. */
void lfc_persistent_done(void* request, const void* bytes, size_t size) {
  const struct lfc_persistent* persistent = request;
  if (size != 0) memcpy(persistent->address, bytes, size);
  if (persistent->request->req_state != OMPI_REQUEST_ACTIVE) activate(persistent->request);
  persistent->request->req_status.MPI_SOURCE = persistent->peer;
  persistent->request->req_status.MPI_TAG = persistent->tag;
  lfc_persistent_complete(persistent->request, size);
}

static void leave_channel(struct lfc_persistent* persistent) {
  if (persistent->receive != NULL) {
    lfc_channel_yield(persistent->receive);
    lfc_channel_drop(persistent->receive);
  }
  if (persistent->sender != NULL) lfc_channel_leave(persistent->sender);
  persistent->receive = NULL;
  persistent->sender = NULL;
}

/* A component has set a callback since the request was made, and with it the field that has led to `persistent`. */
static void recognise_callback(ompi_request_t* request) {
  request->req_start = start_with_callback;
  struct lfc_persistent* const persistent = persistent_of(request);
  persistent->called = true;
  leave_channel(persistent);
  if (persistent->kind == LFC_PERSISTENT_SEND) persistent->kind = LFC_PERSISTENT_OTHER_SEND;
  if (persistent->kind == LFC_PERSISTENT_RECEIVE) persistent->kind = LFC_PERSISTENT_OTHER;
}

static int start_one(ompi_request_t** request) {
  ompi_request_t* const ob1_request = *request;
  if (!is_ours(ob1_request)) return lfc_ob1.pml_start(1, request);
  if (ob1_request->req_complete_cb != NULL && ob1_request->req_start == lfc_persistent_start)
    recognise_callback(ob1_request);
  struct lfc_persistent* const persistent = persistent_of(ob1_request);
  if (persistent->kind == LFC_PERSISTENT_OTHER_SEND) {
    ++lfc_sent.persistent.matched;
    return start_by_ob1(persistent, request);
  }
  const bool idle = ob1_request->req_state == OMPI_REQUEST_INACTIVE &&
                    ((const mca_pml_base_request_t*)ob1_request)->req_pml_complete;
  if (persistent->kind == LFC_PERSISTENT_SEND) {
    if (!idle || !lfc_channel_send(persistent->sender, persistent->address, persistent->bytes)) {
      ++lfc_sent.persistent.matched;
      return start_by_ob1(persistent, request);
    }
    ++lfc_sent.persistent.by_channel;
    activate(ob1_request);
    ob1_request->req_status.MPI_SOURCE = ompi_comm_rank(persistent->comm);
    ob1_request->req_status.MPI_TAG = persistent->tag;
    lfc_persistent_complete(ob1_request, persistent->bytes);
    return OMPI_SUCCESS;
  }
  if (persistent->kind == LFC_PERSISTENT_OTHER || !idle) {
    lfc_before_ob1_receive(persistent->comm, persistent->peer, persistent->tag);
    return start_by_ob1(persistent, request);
  }
  if (lfc_channel_start(persistent->receive)) activate(ob1_request);
  return OMPI_SUCCESS;
}

int lfc_persistent_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == NULL || requests[i]->req_type != OMPI_REQUEST_PML) continue;
    const int status = start_one(&requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
}

static void drive(const ompi_request_t* request, int* looks) {
  while (!REQUEST_COMPLETE(request) && (*looks)-- > 0) lfc_channels_progress();
}

static int looks_of_a_wait(void) { return ++persistent_requests.waits % kUsual == 0 ? 0 : kLooks; }

void lfc_persistent_drive(const ompi_request_t* request) {
  int looks = looks_of_a_wait();
  drive(request, &looks);
}

/* Whether a channel may end the wait for it. */
static bool is_awaited(const ompi_request_t* request) {
  return is_ours(request) || lfc_is_ordinary(request);
}

/* Whether it is complete without an error that the caller must get. */
static bool is_done(const ompi_request_t* request) {
  return REQUEST_COMPLETE(request) && request->req_state == OMPI_REQUEST_ACTIVE &&
         request->req_status.MPI_ERROR == MPI_SUCCESS;
}

/* Ends the wait for a request that is done. */
static void end(ompi_request_t** request) {
  if (is_ours(*request))
    (*request)->req_state = OMPI_REQUEST_INACTIVE;
  else
    (void)(*request)->req_free(request);
}

static int wait_for_one(ompi_request_t** request, ompi_status_public_t* status) {
  ompi_request_t* const ob1_request = *request;
  int looks = looks_of_a_wait();
  if (is_awaited(ob1_request)) drive(ob1_request, &looks);
  if (status != MPI_STATUS_IGNORE || !is_awaited(ob1_request) || !is_done(ob1_request))
    return persistent_requests.original.req_wait(request, status);
  end(request);
  return OMPI_SUCCESS;
}

static int wait_for_all(size_t count, ompi_request_t** requests, ompi_status_public_t* statuses) {
  bool all_done = statuses == MPI_STATUSES_IGNORE;
  int looks = looks_of_a_wait();
  for (size_t i = 0; all_done && i < count; ++i) {
    all_done = is_awaited(requests[i]) || requests[i] == &ompi_request_empty;
    if (all_done) drive(requests[i], &looks);
    all_done = all_done && is_done(requests[i]);
  }
  if (!all_done) return persistent_requests.original.req_wait_all(count, requests, statuses);
  for (size_t i = 0; i < count; ++i) end(&requests[i]);
  return OMPI_SUCCESS;
}

static void forget(struct lfc_persistent* persistent) {
  *persistent->link = persistent->next;
  if (persistent->next != NULL) persistent->next->link = persistent->link;
  free(persistent);
}

static int release(ompi_request_t** request) {
  struct lfc_persistent* const persistent = persistent_of(*request);
  leave_channel(persistent);
  const ompi_request_free_fn_t original = persistent->release;
  give_back(persistent);
  forget(persistent);
  return original(request);
}

static int cancel(ompi_request_t* request, int flag) {
  const struct lfc_persistent* const persistent = persistent_of(request);
  if (persistent->receive != NULL) lfc_channel_yield(persistent->receive);
  if (REQUEST_COMPLETE(request)) return OMPI_SUCCESS; /* perhaps ob1 has never started it */
  return persistent->cancel == NULL ? OMPI_SUCCESS : persistent->cancel(request, flag);
}

/* NULL: no memory; ob1 keeps the request. */
static struct lfc_persistent* made(enum lfc_persistent_kind kind, ompi_communicator_t* comm,
                                   int peer, int tag) {
  struct lfc_persistent* persistent = calloc(1, sizeof *persistent);
  if (persistent == NULL) return NULL;
  persistent->kind = kind;
  persistent->comm = comm;
  persistent->peer = peer;
  persistent->tag = tag;
  persistent->next = persistent_requests.all;
  if (persistent->next != NULL) persistent->next->link = &persistent->next;
  persistent->link = &persistent_requests.all;
  persistent_requests.all = persistent;
  return persistent;
}

/* Whether the buffer is one piece. Sets its address and bytes. */
static bool in_one_piece(const void* buffer, size_t count, const ompi_datatype_t* type,
                         struct lfc_persistent* persistent) {
  persistent->address = (char*)(uintptr_t)buffer + type->super.true_lb;
  if (!lfc_is_one_piece(type, count)) return false;
  persistent->bytes = count * type->super.size;
  return true;
}

/* Makes the sender of a new request. False: no channel may carry its messages. */
static bool may_send_on_channel(struct lfc_persistent* persistent, const void* buffer, size_t count,
                                const ompi_datatype_t* type, mca_pml_base_send_mode_t mode) {
  struct lfc_channel_end end;
  if ((mode != MCA_PML_BASE_SEND_STANDARD && mode != MCA_PML_BASE_SEND_READY) ||
      !in_one_piece(buffer, count, type, persistent) ||
      persistent->bytes > LFC_LONGEST_ON_CHANNEL ||
      !lfc_channel_end_of(persistent->comm, persistent->peer, persistent->tag, &end))
    return false;
  persistent->sender = lfc_channel_sender_of(&end);
  return persistent->sender != NULL;
}

static int isend_init(const void* buffer, size_t count, ompi_datatype_t* type, int destination,
                      int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                      ompi_request_t** request) {
  const int status =
      lfc_ob1.pml_isend_init(buffer, count, type, destination, tag, mode, comm, request);
  if (status != OMPI_SUCCESS || tag < 0) return status; /* a message of the library */
  struct lfc_persistent* persistent = made(LFC_PERSISTENT_SEND, comm, destination, tag);
  if (persistent == NULL) return status;
  if (!may_send_on_channel(persistent, buffer, count, type, mode)) {
    persistent->kind = LFC_PERSISTENT_OTHER_SEND;
    if (!lfc_report_is_ready()) {
      forget(persistent);
      return status;
    }
  }
  take_over(persistent, *request);
  return status;
}

static int irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                      ompi_communicator_t* comm, ompi_request_t** request) {
  const int status = lfc_ob1.pml_irecv_init(buffer, count, type, source, tag, comm, request);
  if (status != OMPI_SUCCESS || tag < MPI_ANY_TAG || source < MPI_ANY_SOURCE) return status;
  struct lfc_channel_end end;
  const bool exact = lfc_channel_end_of(comm, source, tag, &end) && lfc_observer_start();
  struct lfc_persistent* persistent =
      made(exact ? LFC_PERSISTENT_RECEIVE : LFC_PERSISTENT_OTHER, comm, source, tag);
  if (persistent == NULL) return OMPI_ERR_OUT_OF_RESOURCE; /* its start would not be observed */
  if (exact) {
    const bool direct = in_one_piece(buffer, count, type, persistent);
    persistent->receive = lfc_channel_expect(&end, lfc_channel_gain_us(comm, source, tag),
                                             persistent->bytes, direct, persistent);
    if (persistent->receive == NULL) {
      forget(persistent);
      return OMPI_ERR_OUT_OF_RESOURCE;
    }
  }
  take_over(persistent, *request);
  return status;
}

void lfc_persistent_requests_install(void) {
  mca_pml.pml_isend_init = isend_init;
  mca_pml.pml_irecv_init = irecv_init;
  mca_pml.pml_start = lfc_persistent_start;
}
