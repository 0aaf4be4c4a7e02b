#include "requests.h"

#include <stdlib.h>
#include <string.h>

#include "ob1.h"

#include "opal/class/opal_hash_table.h"

enum { kUsualRequests = 32 }; /* the index grows beyond them */

struct lfc_receive* lfc_spare_receives;

static struct {
  bool open;
  opal_hash_table_t all; /* of both kinds, struct lfc_channel_request by the program's request */
} requests;

static bool add(const ompi_request_t* request, struct lfc_channel_request* found) {
  return opal_hash_table_set_value_uint64(&requests.all, (uintptr_t)request, found) == OPAL_SUCCESS;
}

static void remove_from_all(const ompi_request_t* request) {
  (void)opal_hash_table_remove_value_uint64(&requests.all, (uintptr_t)request);
}

/* --- Ordinary receives --- */

static struct lfc_receive* receive_of(ompi_request_t* request) {
  return (struct lfc_receive*)((char*)request - offsetof(struct lfc_receive, request));
}

static int cancel_receive(ompi_request_t* request, int flag) {
  struct lfc_receive* const receive = receive_of(request);
  lfc_channel_yield(receive->channel);
  return receive->ob1_request == NULL
             ? OMPI_SUCCESS
             : receive->ob1_request->req_cancel(receive->ob1_request, flag);
}

void lfc_receive_recycle(struct lfc_receive* receive) {
  ompi_communicator_t* retained = receive->retained;
  OMPI_REQUEST_FINI(&receive->request);
  receive->next_spare = lfc_spare_receives;
  lfc_spare_receives = receive;
  if (retained == NULL) return;
  if (!ompi_datatype_is_predefined(receive->type)) OBJ_RELEASE(receive->type);
  OBJ_RELEASE(retained);
}

int lfc_receive_free(ompi_request_t** request) {
  struct lfc_receive* const receive = receive_of(*request);
  *request = MPI_REQUEST_NULL;
  if (!REQUEST_COMPLETE(&receive->request)) {
    lfc_channel_yield(receive->channel);
    receive->freed = receive->ob1_request != NULL;
    if (receive->freed) return OMPI_SUCCESS;
  }
  lfc_receive_recycle(receive);
  return OMPI_SUCCESS;
}

static int ended_at_ob1(ompi_request_t* ob1_request) {
  struct lfc_receive* const receive = ob1_request->req_complete_cb_data;
  const ompi_status_public_t status = ob1_request->req_status;
  receive->ob1_request = NULL;
  receive->cancelled = status._cancelled;
  lfc_channel_ended(receive->channel);
  ob1_request->req_free(&ob1_request);
  receive->request.req_status = status;
  if (receive->freed)
    lfc_receive_recycle(receive);
  else
    (void)ompi_request_complete(&receive->request, true);
  return 1; /* ob1's request is no more */
}

static void post_receive(struct lfc_channel_request* on_channel) {
  struct lfc_receive* const receive = (struct lfc_receive*)on_channel;
  ompi_request_t* const request = &receive->request;
  const int status = lfc_ob1.pml_irecv(receive->buffer, receive->count, receive->type,
                                       request->req_status.MPI_SOURCE, request->req_status.MPI_TAG,
                                       request->req_mpi_object.comm, &receive->ob1_request);
  if (status == OMPI_SUCCESS) {
    (void)ompi_request_set_callback(receive->ob1_request, ended_at_ob1, receive);
    return;
  }
  receive->cancelled = true;
  receive->ob1_request = NULL;
  lfc_channel_ended(receive->channel);
  request->req_status = (ompi_status_public_t){.MPI_ERROR = status};
  (void)ompi_request_complete(request, true);
}

static enum lfc_channel_outcome outcome_of_receive(const struct lfc_channel_request* on_channel) {
  const struct lfc_receive* const receive = (const struct lfc_receive*)on_channel;
  if (receive->ob1_request != NULL) return LFC_CHANNEL_PENDING;
  return receive->cancelled ? LFC_CHANNEL_CANCELLED : LFC_CHANNEL_MATCHED;
}

static void receive_done(struct lfc_channel_request* on_channel, const void* bytes, size_t size) {
  struct lfc_receive* const receive = (struct lfc_receive*)on_channel;
  if (size != 0) memcpy((char*)receive->buffer + receive->type->super.true_lb, bytes, size);
  lfc_request_complete(&receive->request, size);
}

static const struct lfc_channel_request_calls receive_calls = {post_receive, outcome_of_receive,
                                                               receive_done};

struct lfc_receive* lfc_receive_make(void) {
  struct lfc_receive* const made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->on_channel.calls = &receive_calls;
  made->channel = lfc_channel_make(&made->on_channel);
  if (made->channel == NULL || !add(&made->request, &made->on_channel)) {
    if (made->channel != NULL) lfc_channel_unmake(made->channel);
    free(made);
    return NULL;
  }
  OBJ_CONSTRUCT(&made->request, ompi_request_t);
  made->request.req_type = OMPI_REQUEST_PML;
  made->request.req_persistent = false;
  made->request.req_free = lfc_receive_free;
  made->request.req_cancel = cancel_receive;
  return made;
}

static void unmake(struct lfc_receive* receive) {
  if (receive->ob1_request != NULL) receive->ob1_request->req_complete_cb = NULL;
  lfc_channel_unmake(receive->channel);
  OBJ_DESTRUCT(&receive->request);
  free(receive);
}

/* --- Persistent requests --- */

struct lfc_persistent* lfc_persistent_search(const ompi_request_t* request) {
  void* found = NULL;
  (void)opal_hash_table_get_value_uint64(&requests.all, (uintptr_t)request, &found);
  return found;
}

static const struct lfc_channel_request_calls persistent_calls;

struct lfc_persistent* lfc_persistent_make(enum lfc_persistent_kind kind, ompi_communicator_t* comm,
                                           int peer, int tag, ompi_request_t* request) {
  struct lfc_persistent* const made = calloc(1, sizeof *made);
  if (made == NULL || !add(request, &made->on_channel)) {
    free(made);
    return NULL;
  }
  made->on_channel.calls = &persistent_calls;
  made->kind = kind;
  made->request = request;
  made->comm = comm;
  made->peer = peer;
  made->tag = tag;
  return made;
}

void lfc_persistent_drop(struct lfc_persistent* persistent) {
  remove_from_all(persistent->request);
  free(persistent);
}

/* Also before a start has noted that it has a callback. */
static int cancel_persistent(ompi_request_t* request, int flag) {
  const struct lfc_persistent* const persistent = lfc_persistent_search(request);
  if (persistent->receive != NULL) lfc_channel_yield(persistent->receive);
  if (REQUEST_COMPLETE(request)) return OMPI_SUCCESS; /* perhaps ob1 has never started it */
  return persistent->cancel == NULL ? OMPI_SUCCESS : persistent->cancel(request, flag);
}

void lfc_persistent_take_over(struct lfc_persistent* persistent, ompi_request_start_fn_t start) {
  ompi_request_t* const request = persistent->request;
  persistent->start = request->req_start;
  persistent->release = request->req_free;
  persistent->cancel = request->req_cancel;
  request->req_start = start;
  request->req_free = persistent->called ? lfc_persistent_free_called : lfc_persistent_free;
  request->req_cancel = cancel_persistent;
  if (!persistent->called) request->req_complete_cb_data = persistent;
}

/* Restores the request before ob1 reuses it. */
static void give_back(struct lfc_persistent* persistent) {
  persistent->request->req_start = persistent->start;
  persistent->request->req_free = persistent->release;
  persistent->request->req_cancel = persistent->cancel;
  if (!persistent->called) persistent->request->req_complete_cb_data = NULL;
}

/* The index has room for the new request, because it has lost the one before. */
static void replace_request(struct lfc_persistent* persistent, ompi_request_t* by) {
  const ompi_request_start_fn_t start = persistent->request->req_start;
  give_back(persistent);
  remove_from_all(persistent->request);
  persistent->request = by;
  (void)add(by, &persistent->on_channel);
  lfc_persistent_take_over(persistent, start);
}

/* ob1 replaces the request where it has not finished the last message of this one. */
int lfc_persistent_start_by_ob1(struct lfc_persistent* persistent, ompi_request_t** request) {
  ompi_request_t* const before = *request;
  const int status = persistent->start(1, request);
  if (*request != before) replace_request(persistent, *request);
  return status;
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

/* The callback's argument has replaced the pointer that has led to `persistent`. */
void lfc_persistent_note_callback(ompi_request_t* request) {
  struct lfc_persistent* const persistent = lfc_persistent_search(request);
  request->req_free = lfc_persistent_free_called;
  persistent->called = true;
  leave_channel(persistent);
  if (persistent->kind == LFC_PERSISTENT_SEND) persistent->kind = LFC_PERSISTENT_OTHER_SEND;
  if (persistent->kind == LFC_PERSISTENT_RECEIVE) persistent->kind = LFC_PERSISTENT_OTHER_RECEIVE;
}

int lfc_persistent_free(ompi_request_t** request) {
  struct lfc_persistent* const persistent = lfc_persistent_search(*request);
  const ompi_request_free_fn_t release = persistent->release;
  leave_channel(persistent);
  give_back(persistent);
  lfc_persistent_drop(persistent);
  return release(request);
}

int lfc_persistent_free_called(ompi_request_t** request) { return lfc_persistent_free(request); }

/* A thread that waits for the request goes on waiting. */
static void post_persistent(struct lfc_channel_request* on_channel) {
  struct lfc_persistent* const persistent = (struct lfc_persistent*)on_channel;
  ompi_request_t* request = persistent->request;
  volatile void* const waiting = request->req_complete;
  const bool active = request->req_state == OMPI_REQUEST_ACTIVE;
  request->req_state = OMPI_REQUEST_INACTIVE;
  (void)lfc_persistent_start_by_ob1(persistent, &request);
  if (!active || waiting == REQUEST_PENDING || waiting == REQUEST_COMPLETED) return;
  const bool complete = REQUEST_COMPLETE(request);
  request->req_complete = waiting;
  if (complete) (void)ompi_request_complete(request, true);
}

static enum lfc_channel_outcome outcome_of_persistent(
    const struct lfc_channel_request* on_channel) {
  const struct lfc_persistent* const persistent = (const struct lfc_persistent*)on_channel;
  if (!REQUEST_COMPLETE(persistent->request)) return LFC_CHANNEL_PENDING;
  return persistent->request->req_status._cancelled ? LFC_CHANNEL_CANCELLED : LFC_CHANNEL_MATCHED;
}

/* The request waits, or it is being started and its message is there already. */
static void persistent_done(struct lfc_channel_request* on_channel, const void* bytes,
                            size_t size) {
  const struct lfc_persistent* const persistent = (struct lfc_persistent*)on_channel;
  ompi_request_t* const request = persistent->request;
  if (size != 0) memcpy(persistent->address, bytes, size);
  if (request->req_state != OMPI_REQUEST_ACTIVE) lfc_persistent_activate(request);
  request->req_status.MPI_SOURCE = persistent->peer;
  request->req_status.MPI_TAG = persistent->tag;
  lfc_request_complete(request, size);
}

static const struct lfc_channel_request_calls persistent_calls = {
    post_persistent, outcome_of_persistent, persistent_done};

/* --- Begin and end --- */

bool lfc_requests_open(void) {
  OBJ_CONSTRUCT(&requests.all, opal_hash_table_t);
  requests.open = opal_hash_table_init(&requests.all, kUsualRequests) == OPAL_SUCCESS;
  if (!requests.open) OBJ_DESTRUCT(&requests.all);
  return requests.open;
}

void lfc_requests_close(void) {
  if (!requests.open) return;
  uint64_t key = 0;
  void* each = NULL;
  OPAL_HASH_TABLE_FOREACH(key, uint64, each, &requests.all) {
    if (((const struct lfc_channel_request*)each)->calls == &receive_calls)
      unmake(each);
    else
      free(each);
  }
  OBJ_DESTRUCT(&requests.all);
  lfc_spare_receives = NULL;
  requests.open = false;
}
