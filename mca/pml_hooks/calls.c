#include "calls.h"

#include "channel_ends.h"
#include "ob1.h"
#include "observer.h"
#include "report.h"
#include "requests.h"
#include "routes.h"
#include "waits.h"

#include "ompi/mca/pml/base/pml_base_request.h"

/* Longer messages, in bytes, cost far more than their matching. */
enum { kLongest = 4096 };

/* Whether the mode permits that the send is complete before its message is received. */
static inline bool may_end_early(mca_pml_base_send_mode_t mode) {
  return mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY;
}

/* --- Ordinary messages that have a route --- */

/* Sends the message on its channel. False: ob1 has to send it. */
static inline bool send_on_channel(const void* buffer, size_t count, const ompi_datatype_t* type,
                                   const struct lfc_route* route, mca_pml_base_send_mode_t mode) {
  const size_t bytes = count * type->super.size;
  const bool able = bytes <= kLongest && lfc_is_one_piece(type, count) && may_end_early(mode);
  if (able && lfc_channel_send(route->sender, (const char*)buffer + type->super.true_lb, bytes)) {
    ++lfc_sent.ordinary.by_channel;
    return true;
  }
  ++lfc_sent.ordinary.matched;
  if (able && lfc_route_is_closed(route)) lfc_routes_uncache(&lfc_send_routes, route->comm);
  return false;
}

LFC_APART int isend_on(const void* buffer, size_t count, ompi_datatype_t* type,
                       const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                       ompi_communicator_t* comm, ompi_request_t** request) {
  if (!send_on_channel(buffer, count, type, route, mode))
    return lfc_ob1.pml_isend(buffer, count, type, route->peer, tag, mode, comm, request);
  *request = &ompi_request_empty;
  return OMPI_SUCCESS;
}

LFC_APART int send_on(const void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                      ompi_communicator_t* comm) {
  if (send_on_channel(buffer, count, type, route, mode)) return OMPI_SUCCESS;
  return lfc_ob1.pml_send(buffer, count, type, route->peer, tag, mode, comm);
}

/* Starts a receive, of which the arguments stay valid unless they are retained. NULL: memory is short. */
static inline __attribute__((always_inline)) struct lfc_receive* start_receive(
    void* buffer, size_t count, ompi_datatype_t* type, const struct lfc_route* route, int tag,
    ompi_communicator_t* comm, bool outlives_call) {
  struct lfc_receive* const receive = lfc_receive_take(buffer, count, type, route->peer, tag, comm);
  if (receive == NULL) return NULL;
  if (outlives_call) lfc_receive_retain(receive, comm);
  if (!lfc_channel_start_on(receive->channel, route->key, count * type->super.size,
                            lfc_is_one_piece(type, count)) &&
      lfc_channel_is_closed(route->key))
    lfc_routes_uncache(&lfc_receive_routes, comm);
  return receive;
}

LFC_APART int irecv_on(void* buffer, size_t count, ompi_datatype_t* type,
                       const struct lfc_route* route, int tag, ompi_communicator_t* comm,
                       ompi_request_t** request) {
  struct lfc_receive* const receive = start_receive(buffer, count, type, route, tag, comm, true);
  if (receive == NULL)
    return lfc_irecv_by_ob1(buffer, count, type, route->peer, tag, comm, request);
  *request = &receive->request;
  return OMPI_SUCCESS;
}

LFC_APART int recv_on(void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, ompi_communicator_t* comm,
                      ompi_status_public_t* status) {
  struct lfc_receive* const receive = start_receive(buffer, count, type, route, tag, comm, false);
  if (receive == NULL) return lfc_recv_by_ob1(buffer, count, type, route->peer, tag, comm, status);
  while (!REQUEST_COMPLETE(&receive->request)) {
    lfc_wait_briefly(&receive->request);
    if (!REQUEST_COMPLETE(&receive->request)) opal_progress();
  }
  const int result = receive->request.req_status.MPI_ERROR;
  if (status != MPI_STATUS_IGNORE) *status = receive->request.req_status;
  lfc_receive_recycle(receive);
  return result;
}

/* --- The route of an ordinary message --- */

#define LFC_LIST(...) __VA_ARGS__

/* The end of both functions below: NAME_on() for a message that has a route, else `by_ob1`. */
#define LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments)                       \
  if (cached->route != NULL)                                                  \
    return name##_on(buffer, count, type, cached->route, LFC_LIST arguments); \
  note;                                                                       \
  return by_ob1(buffer, count, type, peer, LFC_LIST arguments)

/* Makes the PML's call call_NAME(), for a `memory` buffer, by routes of the table `routes`. `parameters` and
 * `arguments` are in parentheses: those behind the peer. `note` is executed before `by_ob1`.
 *
 * Each function ends in a jump to another one with as many arguments, so that a message without a route costs a look
 * and a jump. That is why NAME_on() gets the route in the place of the peer, and search_NAME() is a function of its
 * own. */
#define LFC_CALL_BY_ROUTE(name, memory, routes, note, by_ob1, parameters, arguments)            \
  LFC_APART int search_##name(memory buffer, size_t count, ompi_datatype_t* type, int peer,     \
                              LFC_LIST parameters) {                                            \
    const struct lfc_cached_route* const cached = lfc_search_route(&(routes), comm, peer, tag); \
    LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments);                                            \
  }                                                                                             \
  static int call_##name(memory buffer, size_t count, ompi_datatype_t* type, int peer,          \
                         LFC_LIST parameters) {                                                 \
    const struct lfc_cached_route* const cached = lfc_cached_route(&(routes), comm, peer, tag); \
    if (!lfc_is_cached(cached, comm, peer, tag))                                                \
      return search_##name(buffer, count, type, peer, LFC_LIST arguments);                      \
    LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments);                                            \
  }

/* Messages of a planned channel that was closed count in the report. */
#define LFC_COUNT_MATCHED lfc_sent.ordinary.matched += cached->closed

LFC_CALL_BY_ROUTE(isend, const void*, lfc_send_routes, LFC_COUNT_MATCHED, lfc_ob1.pml_isend,
                  (int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                   ompi_request_t** request),
                  (tag, mode, comm, request))
LFC_CALL_BY_ROUTE(send, const void*, lfc_send_routes, LFC_COUNT_MATCHED, lfc_ob1.pml_send,
                  (int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm),
                  (tag, mode, comm))
LFC_CALL_BY_ROUTE(irecv, void*, lfc_receive_routes, (void)0, lfc_irecv_by_ob1,
                  (int tag, ompi_communicator_t* comm, ompi_request_t** request),
                  (tag, comm, request))
LFC_CALL_BY_ROUTE(recv, void*, lfc_receive_routes, (void)0, lfc_recv_by_ob1,
                  (int tag, ompi_communicator_t* comm, ompi_status_public_t* status),
                  (tag, comm, status))

/* --- Persistent requests --- */

static int start_send(struct lfc_persistent* persistent, ompi_request_t** request, bool idle) {
  ompi_request_t* const ob1_request = *request;
  if (!idle || !lfc_channel_send(persistent->sender, persistent->address, persistent->bytes)) {
    ++lfc_sent.persistent.matched;
    return lfc_persistent_start_by_ob1(persistent, request);
  }
  ++lfc_sent.persistent.by_channel;
  lfc_persistent_activate(ob1_request);
  ob1_request->req_status.MPI_SOURCE = ompi_comm_rank(persistent->comm);
  ob1_request->req_status.MPI_TAG = persistent->tag;
  lfc_request_complete(ob1_request, persistent->bytes);
  return OMPI_SUCCESS;
}

static int start_one(ompi_request_t** request) {
  ompi_request_t* const ob1_request = *request;
  if (!lfc_is_persistent(ob1_request)) return lfc_ob1.pml_start(1, request);
  if (ob1_request->req_complete_cb != NULL && ob1_request->req_free == lfc_persistent_free)
    lfc_persistent_note_callback(ob1_request);
  struct lfc_persistent* const persistent = lfc_persistent_of(ob1_request);
  if (persistent->kind == LFC_PERSISTENT_OTHER_SEND) {
    ++lfc_sent.persistent.matched;
    return lfc_persistent_start_by_ob1(persistent, request);
  }
  const bool idle = ob1_request->req_state == OMPI_REQUEST_INACTIVE &&
                    ((const mca_pml_base_request_t*)ob1_request)->req_pml_complete;
  if (persistent->kind == LFC_PERSISTENT_SEND) return start_send(persistent, request, idle);
  if (persistent->kind == LFC_PERSISTENT_OTHER_RECEIVE || !idle) {
    lfc_before_ob1_receive(persistent->comm, persistent->peer, persistent->tag);
    return lfc_persistent_start_by_ob1(persistent, request);
  }
  if (lfc_channel_start(persistent->receive)) lfc_persistent_activate(ob1_request);
  return OMPI_SUCCESS;
}

static int call_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == NULL || requests[i]->req_type != OMPI_REQUEST_PML) continue;
    const int status = start_one(&requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
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
  if (!may_end_early(mode) || !in_one_piece(buffer, count, type, persistent) ||
      persistent->bytes > kLongest ||
      !lfc_channel_end_of(persistent->comm, persistent->peer, persistent->tag, &end))
    return false;
  persistent->sender = lfc_channel_sender_of(&end);
  return persistent->sender != NULL;
}

static int call_isend_init(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                           int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                           ompi_request_t** request) {
  const int status = lfc_ob1.pml_isend_init(buffer, count, type, peer, tag, mode, comm, request);
  if (status != OMPI_SUCCESS || tag < 0) return status; /* a message of the library */
  struct lfc_persistent* const persistent =
      lfc_persistent_make(LFC_PERSISTENT_SEND, comm, peer, tag, *request);
  if (persistent == NULL) return status; /* ob1 keeps the request */
  if (!may_send_on_channel(persistent, buffer, count, type, mode)) {
    persistent->kind = LFC_PERSISTENT_OTHER_SEND;
    if (!lfc_report_is_ready()) {
      lfc_persistent_drop(persistent);
      return status;
    }
  }
  lfc_persistent_take_over(persistent, call_start);
  return status;
}

static int call_irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                           ompi_communicator_t* comm, ompi_request_t** request) {
  const int status = lfc_ob1.pml_irecv_init(buffer, count, type, source, tag, comm, request);
  if (status != OMPI_SUCCESS || tag < MPI_ANY_TAG || source < MPI_ANY_SOURCE) return status;
  struct lfc_channel_end end;
  const bool exact = lfc_channel_end_of(comm, source, tag, &end) && lfc_observer_start();
  struct lfc_persistent* const persistent = lfc_persistent_make(
      exact ? LFC_PERSISTENT_RECEIVE : LFC_PERSISTENT_OTHER_RECEIVE, comm, source, tag, *request);
  if (persistent == NULL) return OMPI_ERR_OUT_OF_RESOURCE; /* its start would not be observed */
  if (exact) {
    const bool direct = in_one_piece(buffer, count, type, persistent);
    persistent->receive = lfc_channel_expect(&end, lfc_channel_gain_us(comm, source, tag),
                                             persistent->bytes, direct, &persistent->on_channel);
    if (persistent->receive == NULL) {
      lfc_persistent_drop(persistent);
      return OMPI_ERR_OUT_OF_RESOURCE;
    }
  }
  lfc_persistent_take_over(persistent, call_start);
  return status;
}

/* --- Begin --- */

void lfc_calls_install(void) {
  mca_pml.pml_isend_init = call_isend_init;
  mca_pml.pml_irecv_init = call_irecv_init;
  mca_pml.pml_start = call_start;
  if (!lfc_messages_are_planned) return;
  mca_pml.pml_isend = call_isend;
  mca_pml.pml_send = call_send;
  mca_pml.pml_irecv = call_irecv;
  mca_pml.pml_recv = call_recv;
}
